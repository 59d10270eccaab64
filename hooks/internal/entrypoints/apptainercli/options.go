package apptainercli

// The options that exec, run, shell, test, instance start and instance run of Apptainer 1.1 to 1.5 and SingularityCE
// 3.9 to 4.4 know, and whether each takes a value: one table, for none of them means one thing here and another
// there. Taken from `--help`, the manual pages and the command tables of 1.4.5 and 4.x, hidden ones included.
var (
	actions = optionTable{
		value: values(
			words(`add-caps app apply-cgroups arch authfile bind blkio-weight blkio-weight-device cdi-dirs
				containlibs cpu-shares cpus cpuset-cpus cpuset-mems cwd data device dmtcp-launch dmtcp-restart dns
				docker-host docker-password docker-username drop-caps env env-file fusemount home hostname
				memory memory-reservation memory-swap mount netns-path network network-args no-mount overlay pem-path
				pid-file pids-limit platform proot pwd runscript-timeout scratch security shell tmpdir vm-cpu vm-ip
				vm-ram workdir`),
			words(`allow-setuid boot cleanenv compat contain containall disable-cache docker-login fakeroot
				help ignore-fakeroot-command ignore-subuid ignore-userns intel-hpu ipc keep-layers keep-privs net
				no-compat no-eval no-home no-https no-init no-nv no-oci no-pid no-privs no-rocm no-setgroups
				no-tmp-sandbox no-umask nohttps nv nvccli oci oom-kill-disable passphrase pid rocm sharens sif-fuse
				syos tmp-sandbox underlay unsquash userns uts vm vm-err writable writable-tmpfs`)),
		letters: map[byte]string{
			'B': "bind", 'H': "home", 'S': "scratch", 'W': "workdir", 'o': "overlay", 's': "shell",
			'C': "containall", 'c': "contain", 'e': "cleanenv", 'f': "fakeroot", 'h': "help", 'i': "ipc",
			'n': "net", 'p': "pid", 'u': "userns", 'w': "writable",
		},
	}
	globals = optionTable{
		value: values(words(`config`), words(`build-config debug help nocolor quiet silent verbose version`)),
		letters: map[byte]string{
			'c': "config", 'd': "debug", 'h': "help", 'q': "quiet", 's': "silent", 'v': "verbose",
		},
	}
)

// The environment variables, after APPTAINER_ or SINGULARITY_, that stand for an option.
var variables = map[string][]string{
	"cleanenv":   {"CLEANENV"},
	"compat":     {"COMPAT"},
	"contain":    {"CONTAIN"},
	"containall": {"CONTAINALL"},
	"env-file":   {"ENV_FILE"},
	"fakeroot":   {"FAKEROOT"},
	"home":       {"HOME"},
	"no-eval":    {"NO_EVAL"},
	"no-home":    {"NO_HOME"},
	"no-init":    {"NOSHIMINIT"},
	"no-mount":   {"NO_MOUNT"},
	"pid":        {"PID", "UNSHARE_PID"},
	"oci":        {"OCI"},
	"overlay":    {"OVERLAY", "OVERLAYIMAGE"},
	"userns":     {"USERNS", "UNSHARE_USERNS"},
	"writable":   {"WRITABLE"},
}

// optionTable says what a command's options look like.
type optionTable struct {
	value   map[string]bool // option name -> takes a value
	letters map[byte]string
}

// Takes says whether an option of the commands that start containers takes a value, and whether they have one of this name.
func Takes(option string) (takes, known bool) {
	takes, known = actions.value[option]
	return takes, known
}

// Knows says whether commands that start containers have an option of this name.
func Knows(option string) bool {
	_, known := Takes(option)
	return known
}
