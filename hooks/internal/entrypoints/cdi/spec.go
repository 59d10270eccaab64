// Package cdi writes launch plans as a Container Device Interface specification, one device for each profile.
package cdi

import (
	"encoding/json"
	"fmt"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"mpiimport.org/hooks/launch"
)

// Kind is the vendor and class of the devices, as in --device mpiimport.org/profile=mpich.
const Kind = "mpiimport.org/profile"

// Device writes a plan as a device. An error names what a specification cannot say.
func Device(plan launch.Plan) (specs.Device, error) {
	device := specs.Device{Name: plan.Profile}
	for _, m := range plan.Mounts {
		device.ContainerEdits.Mounts = append(device.ContainerEdits.Mounts, &specs.Mount{HostPath: m.Source,
			ContainerPath: m.Target, Options: m.OCIOptions()})
	}
	for _, target := range plan.Memory {
		device.ContainerEdits.Mounts = append(device.ContainerEdits.Mounts, &specs.Mount{HostPath: "tmpfs",
			ContainerPath: target, Type: "tmpfs", Options: launch.MemoryOptions()})
	}
	for _, path := range plan.Devices {
		device.ContainerEdits.DeviceNodes = append(device.ContainerEdits.DeviceNodes, &specs.DeviceNode{Path: path})
	}
	for _, v := range plan.Environment {
		if v.Change == launch.Keep {
			// These runtimes hand in what the caller names, and nothing else; so with the hook.
			continue
		}
		// Of a list that a device lengthens nobody knows the beginning. Our own is the one worth losing it for.
		if v.Change != launch.Set && v.Value != launch.SitePath {
			return specs.Device{}, fmt.Errorf("the profile %s wants to %s %s, and a CDI device can only set variables; leave it out there, or use another way into the container",
				plan.Profile, v.Change, v.Name)
		}
		device.ContainerEdits.Env = append(device.ContainerEdits.Env, v.Name+"="+v.Value)
	}
	return device, nil
}

// Format writes the specification, of the oldest version that has what it uses.
func Format(devices []specs.Device) ([]byte, error) {
	spec := specs.Spec{Kind: Kind, Devices: devices}
	version, err := specs.MinimumRequiredVersion(&spec)
	if err != nil {
		return nil, err
	}
	spec.Version = version
	text, err := json.MarshalIndent(spec, "", "  ")
	return append(text, '\n'), err
}
