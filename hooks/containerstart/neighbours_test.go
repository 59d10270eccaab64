package containerstart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/launch"
)

// installed returns a prefix with the profiles that are shipped.
func installed(t *testing.T) string {
	t.Helper()
	prefix := t.TempDir()
	shipped, err := filepath.Abs("../../mpiimport/profiles")
	if err == nil {
		err = os.Symlink(shipped, filepath.Join(prefix, "profiles"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return prefix
}

func written(t *testing.T, name, text string) string {
	t.Helper()
	config := t.TempDir()
	directory := filepath.Join(config, "mpiimport", "profiles")
	err := os.MkdirAll(directory, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(directory, name+".yaml"), []byte("schema_version: 1\nname: "+name+"\ndescription: a test\n"+text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return "XDG_CONFIG_HOME=" + config
}

// handedIn returns what of the MPIs' variables goes into the container, and the profile's name there.
func handedIn(env []string) (string, string) {
	found, name := []string{}, ""
	for _, entry := range env {
		if variable, there := strings.CutPrefix(entry, "APPTAINERENV_"); there {
			if slices.ContainsFunc([]string{"MPIR_", "UCX_", "FI_", "OMPI_"}, func(family string) bool { return strings.HasPrefix(variable, family) }) {
				found = append(found, variable)
			}
			if value, isName := strings.CutPrefix(variable, "MPIIMPORT_PROFILE="); isName {
				name = value
			}
		}
	}
	slices.Sort(found)
	return strings.Join(found, " "), name
}

const (
	fi, ucx   = "FI_SHM_DISABLE_CMA=${FI_SHM_DISABLE_CMA-1}", "UCX_POSIX_USE_PROC_LINK=${UCX_POSIX_USE_PROC_LINK-n}"
	cma       = "MPIR_CVAR_CH4_CMA_ENABLE=${MPIR_CVAR_CH4_CMA_ENABLE-0}"
	mpich     = fi + " " + cma + " " + ucx
	openmpi   = "OMPI_MCA_btl_vader_single_copy_mechanism=${OMPI_MCA_btl_vader_single_copy_mechanism-none} OMPI_MCA_smsc=${OMPI_MCA_smsc-^cma} " + ucx
	fourRanks = "MPI_LOCALNRANKS=4"
)

func TestRanksInNamespacesOfTheirOwnGetWhatTheirMPINeeds(t *testing.T) {
	prefix := installed(t)
	hydra := []string{"PMI_RANK=0", fourRanks}
	for name, c := range map[string]struct {
		env           []string
		change        func(*Call)
		want, profile string
	}{
		"Hydra":                         {hydra, nil, mpich, "default,mpich,intel"},
		"PALS":                          {[]string{"PALS_RANKID=0", "PALS_LOCAL_SIZE=2"}, nil, mpich, "default,mpich,intel"},
		"Open MPI":                      {[]string{"OMPI_COMM_WORLD_RANK=0", "PMIX_RANK=0"}, nil, openmpi, "default,openmpi"},
		"PMIx":                          {[]string{"PMIX_RANK=0"}, nil, fi + " " + cma + " " + openmpi, "default,openmpi,mpich,intel"},
		"Slurm alone":                   {[]string{"SLURM_PROCID=0"}, nil, "", "default"},
		"no launcher":                   {nil, nil, "", "default"},
		"one rank of the node":          {[]string{"PMI_RANK=0", "MPI_LOCALNRANKS=1"}, nil, "", "default"},
		"root":                          {hydra, func(c *Call) { c.Root = true }, "", "default"},
		"root in a user namespace":      {hydra, func(c *Call) { c.Root, c.Options = true, map[string]string{"userns": "true"} }, mpich, "default,mpich,intel"},
		"a setuid runtime":              {hydra, func(c *Call) { c.Facts.Setuid = true }, "", "default"},
		"one container for all":         {hydra, func(c *Call) { c.Options = map[string]string{"sharens": "true"} }, "", "default"},
		"a profile that is named":       {hydra, func(c *Call) { c.Value = "munge" }, "", "munge"},
		"a script of the image":         {hydra, func(c *Call) { c.Action = Run }, mpich, "default,mpich,intel"},
		"without evaluation":            {hydra, func(c *Call) { c.Options = map[string]string{"no-eval": "true"} }, "FI_SHM_DISABLE_CMA=1 MPIR_CVAR_CH4_CMA_ENABLE=0 UCX_POSIX_USE_PROC_LINK=n", "default,mpich,intel"},
		"the caller says so":            {append(slices.Clone(hydra), "MPIR_CVAR_CH4_CMA_ENABLE=1"), nil, fi + " " + ucx, "default,mpich,intel"},
		"the caller hands it in":        {append(slices.Clone(hydra), "APPTAINERENV_MPIR_CVAR_CH4_CMA_ENABLE=1"), nil, strings.Replace(mpich, cma, "MPIR_CVAR_CH4_CMA_ENABLE=1", 1), "default,mpich,intel"},
		"a site's default":              {append(slices.Clone(hydra), written(t, "default", "environment: {set: {FI_SHM_DISABLE_CMA: '0'}}\n")), nil, strings.Replace(mpich, fi, "FI_SHM_DISABLE_CMA=0", 1), "default,mpich"},
		"a lock on a variable":          {append(slices.Clone(hydra), written(t, "default", "lock: [environment.set.MPIR_CVAR_CH4_CMA_ENABLE]\n")), nil, fi + " " + ucx, "default,mpich,intel"},
		"a lock on all":                 {append(slices.Clone(hydra), written(t, "default", "lock: [environment]\n")), nil, "", "default"},
		"a container for each node":     {append(slices.Clone(hydra), written(t, "default", "container: {per_node: true}\n")), nil, "", "default"},
		"a site's own MPICH":            {append(slices.Clone(hydra), written(t, "mpich", "user_namespace: {environment: {set: {MPIR_X: '1'}}}\n")), nil, fi + " MPIR_X=${MPIR_X-1} " + ucx, "default,mpich,intel"},
		"a profile that is not written": {append(slices.Clone(hydra), written(t, "mpich", "{")), nil, fi + " " + ucx, "default,intel"},
	} {
		asked := call(Exec, c.env...)
		asked.Prefix, asked.Root, asked.Asked = prefix, false, true
		if c.change != nil {
			c.change(&asked)
		}
		out, err := asked.Decide()
		if got, profile := handedIn(out.Env); err != nil || got != c.want || profile != c.profile {
			t.Errorf("%s: %q, %q, %v", name, got, profile, err)
		}
		if isBroken := strings.Contains(strings.Join(out.LeftOut, "\n"), "passed over"); isBroken != (name == "a profile that is not written") || out.Note != "" {
			t.Errorf("%s: %q %q", name, out.LeftOut, out.Note)
		}
	}
}

func TestAPlanOfTheJobIsCompletedWhereARankStarts(t *testing.T) {
	prefix := installed(t)
	plan := launch.Plan{Profile: "default", Mounts: []launch.Mount{{Source: prefix, Target: launch.Inside, Options: "ro"}}}
	text, err := launch.WriteShared(launch.Shared{Plan: plan}, launch.Key{Prefix: prefix, UserNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	asked := call(Exec, ourvars.Plan+"="+text, "MPIIMPORT=1", "PMI_RANK=0", fourRanks)
	asked.Prefix, asked.Root = prefix, false
	out, err := asked.Decide()
	if got, profile := handedIn(out.Env); err != nil || got != mpich || profile != "default,mpich,intel" {
		t.Errorf("%q, %q, %v", got, profile, err)
	}
}

func TestWhoeverWantsToKnowSeesWhichProfileIsTaken(t *testing.T) {
	prefix := installed(t)
	for name, c := range map[string]struct {
		rank, verbose string
		runtime, says bool
	}{
		"not asked":              {"PMI_RANK=0", "", false, false},
		"by the variable":        {"PMI_RANK=0", "MPIIMPORT_VERBOSE=1", false, true},
		"switched off":           {"PMI_RANK=0", "MPIIMPORT_VERBOSE=0", false, false},
		"by the runtime's":       {"PMI_RANK=0", "", true, true},
		"another rank than root": {"PMI_RANK=1", "", true, false},
	} {
		asked := call(Exec, c.rank, fourRanks, c.verbose)
		asked.Prefix, asked.Root, asked.Asked, asked.Verbose = prefix, false, true, c.runtime
		out, err := asked.Decide()
		said := strings.Join(out.LeftOut, "\n")
		if err != nil || (said == "mpiimport: the profile is default,mpich,intel") != c.says || (said == "") == c.says {
			t.Errorf("%s: %q %v", name, said, err)
		}
	}
}
