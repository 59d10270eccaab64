package launch

// OCIOptions are the options of the bind mount for the OCI runtimes.
func (m Mount) OCIOptions() []string {
	return []string{"rbind", "rprivate", "nosuid", "nodev", m.Options}
}

// MemoryOptions are the options of a file system in memory for the OCI runtimes. Any user of the container may keep
// a store there.
func MemoryOptions() []string { return []string{"rw", "nosuid", "nodev", "exec", "mode=1777"} }
