// The Lua engine of Argo CD, to run examples/argo-cd.
module claim-rollout/engines/argo-cd

go 1.24

require (
	github.com/yuin/gopher-lua v1.1.1
	gopkg.in/yaml.v3 v3.0.1
	layeh.com/gopher-json v0.0.0-20190114024228-97fed8db8427
)
