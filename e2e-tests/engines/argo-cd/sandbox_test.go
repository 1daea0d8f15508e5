package argocd

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
	"gopkg.in/yaml.v3"
	luajson "layeh.com/gopher-json"
)

const file = "../../../examples/argo-cd/argocd-cm.yaml"

// The ConfigMap that users apply.
type configMap struct {
	Data map[string]string `yaml:"data"`
}

type actions struct {
	Merge       bool   `yaml:"mergeBuiltinActions"`
	Discovery   string `yaml:"discovery.lua"`
	Definitions []struct {
		Name   string `yaml:"name"`
		Action string `yaml:"action.lua"`
	} `yaml:"definitions"`
}

func entry(t *testing.T, key string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var config configMap
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	script, found := config.Data[key]
	if !found {
		t.Fatalf("%s has no %s", file, key)
	}
	return script
}

// Converts YAML to the values that Argo CD gives to Lua.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return value
}

// Runs a script as `runLua` of Argo CD does (util/lua/lua.go): the libraries package, base and table, no string and no
// io, within a second.
func run(t *testing.T, script string, obj map[string]any) any {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		parameters := lua.P{Fn: state.NewFunction(library.open), NRet: 0, Protect: true}
		if err := state.CallByParam(parameters, lua.LString(library.name)); err != nil {
			t.Fatal(err)
		}
	}
	limited, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state.SetContext(limited)
	state.SetGlobal("obj", value(state, obj))
	if err := state.DoString(script); err != nil {
		t.Fatalf("%v\n%s", err, script)
	}
	encoded, err := luajson.Encode(state.Get(-1))
	if err != nil {
		t.Fatal(err)
	}
	var result any
	if err := json.Unmarshal(encoded, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

func value(state *lua.LState, of any) lua.LValue {
	switch of := of.(type) {
	case bool:
		return lua.LBool(of)
	case int:
		return lua.LNumber(of)
	case string:
		return lua.LString(of)
	case []any:
		list := state.NewTable()
		for _, item := range of {
			list.Append(value(state, item))
		}
		return list
	case map[string]any:
		table := state.NewTable()
		for key, item := range of {
			table.RawSetString(key, value(state, item))
		}
		return table
	}
	return lua.LNil
}

// The health in one line: status and message.
func health(t *testing.T, key string, obj map[string]any) string {
	t.Helper()
	result, isTable := run(t, entry(t, key), obj).(map[string]any)
	if !isTable {
		t.Fatalf("%s returned no table", key)
	}
	status, _ := result["status"].(string)
	message, _ := result["message"].(string)
	valid := " Healthy Progressing Degraded Suspended "
	if !strings.Contains(valid, " "+status+" ") || len(result) != 2 {
		t.Fatalf("%s returned %v", key, result)
	}
	return status + ": " + message
}
