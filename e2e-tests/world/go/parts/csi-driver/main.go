// Command csi-driver is the mock CSI driver of Kubernetes' own storage tests, as a process. Volumes are entries in a
// list; creating, growing and modifying them succeeds at once. A test that wants another behaviour writes it into a
// file, which the driver reads at every call. Volumes of a StorageClass with a parameter `behaviour` use a file of that
// name beside the first one.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/driver"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/mock/service"
)

// behaviour is the content of the file. The default has no limit, no delay and no error.
type behaviour struct {
	// MaximumBytes: a larger volume fails with OutOfRange, at creation and at expansion.
	MaximumBytes int64 `json:"maximumBytes"`
	// ExpandDelayMillis: how long an expansion takes.
	ExpandDelayMillis int64 `json:"expandDelayMillis"`
	// ExpandError and ModifyError: the name of a gRPC status, such as FAILED_PRECONDITION, that every such call returns.
	ExpandError codes.Code `json:"expandError"`
	ModifyError codes.Code `json:"modifyError"`
	// InUse: the ids of volumes that a Pod uses. Their expansion fails with FailedPrecondition: the driver is offline-only.
	InUse []string `json:"inUse"`
	// NodeExpansionRequired: after an expansion the node must grow the file system as well.
	NodeExpansionRequired bool `json:"nodeExpansionRequired"`
}

func main() {
	endpoint := flag.String("endpoint", "csi.sock", "Unix socket to listen on")
	name := flag.String("name", "mock.csi.claim-rollout.io", "name of the driver")
	file := flag.String("behaviour", "", "JSON file, read at every call")
	flag.Parse()

	// A previous driver that was killed leaves the socket behind. An error shows when listening.
	_ = os.Remove(*endpoint)
	listener, err := net.Listen("unix", *endpoint)
	if err != nil {
		log.Fatal(err)
	}
	mock := service.New(service.Config{DriverName: *name, DisableAttach: true})
	server := driver.NewCSIDriver(&driver.CSIDriverServers{Controller: mock, Identity: mock, Node: mock})
	err = server.Start(listener, func(ctx context.Context, request any, call *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		response, err := handle(ctx, *file, request, next)
		log.Printf("%s %v -> %v %v", call.FullMethod, request, response, err)
		return response, err
	})
	if err != nil {
		log.Fatal(err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
	server.Stop()
}

// fileOf holds, by the id of the volume, the parameter `behaviour` of its StorageClass.
var fileOf sync.Map

// choose returns the file for this call.
func choose(file string, request any) string {
	var own any
	switch request := request.(type) {
	case *csi.CreateVolumeRequest:
		own = request.GetParameters()["behaviour"]
	case *csi.ControllerExpandVolumeRequest:
		own, _ = fileOf.Load(request.GetVolumeId())
	case *csi.ControllerModifyVolumeRequest:
		own, _ = fileOf.Load(request.GetVolumeId())
	}
	if name, ok := own.(string); ok && name != "" {
		return filepath.Join(filepath.Dir(file), name)
	}
	return file
}

func handle(ctx context.Context, file string, request any, next grpc.UnaryHandler) (any, error) {
	wanted, err := read(choose(file, request))
	if err != nil {
		return nil, status.Errorf(codes.Internal, "the behaviour file: %v", err)
	}
	switch request := request.(type) {
	case *csi.CreateVolumeRequest:
		if err := wanted.limit(request.GetCapacityRange()); err != nil {
			return nil, err
		}
	case *csi.ControllerExpandVolumeRequest:
		select {
		case <-time.After(time.Duration(wanted.ExpandDelayMillis) * time.Millisecond):
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		if wanted.ExpandError != codes.OK {
			return nil, status.Errorf(wanted.ExpandError, "the test wants the expansion to fail with %s", wanted.ExpandError)
		}
		if slices.Contains(wanted.InUse, request.GetVolumeId()) {
			return nil, status.Errorf(codes.FailedPrecondition, "volume %s is in use", request.GetVolumeId())
		}
		if err := wanted.limit(request.GetCapacityRange()); err != nil {
			return nil, err
		}
	case *csi.ControllerModifyVolumeRequest:
		if wanted.ModifyError != codes.OK {
			return nil, status.Errorf(wanted.ModifyError, "the test wants the modification to fail with %s", wanted.ModifyError)
		}
	}
	response, err := next(ctx, request)
	if created, ok := response.(*csi.CreateVolumeResponse); ok && err == nil {
		fileOf.Store(created.GetVolume().GetVolumeId(), request.(*csi.CreateVolumeRequest).GetParameters()["behaviour"])
	}
	if expanded, ok := response.(*csi.ControllerExpandVolumeResponse); ok && err == nil {
		expanded.NodeExpansionRequired = wanted.NodeExpansionRequired
	}
	return response, err
}

func read(file string) (wanted behaviour, err error) {
	if file == "" {
		return wanted, nil
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &wanted)
	}
	return wanted, err
}

func (b behaviour) limit(wanted *csi.CapacityRange) error {
	if b.MaximumBytes > 0 && wanted.GetRequiredBytes() > b.MaximumBytes {
		return status.Errorf(codes.OutOfRange, "a volume of %d bytes is more than the largest, %d", wanted.GetRequiredBytes(), b.MaximumBytes)
	}
	return nil
}
