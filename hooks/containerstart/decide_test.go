package containerstart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/launch"
)

func call(action string, env ...string) Call {
	return Call{Action: action, Image: "img", Command: []string{"python"}, Env: append(env, "HOME=/none"), Prefix: "/p", Facts: Facts{Flavour: "apptainer"}, Root: true}
}

func profileOf(t *testing.T, c Call) string {
	t.Helper()
	out, err := c.Decide()
	if err != nil {
		t.Fatal(err)
	}
	name, _ := environ.Get(out.Env, "APPTAINERENV_MPIIMPORT_PROFILE")
	return name
}

func TestTheStrongestWishCounts(t *testing.T) {
	directory := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		text := "schema_version: 1\nname: " + name + "\ndescription: a test\n"
		if err := os.WriteFile(filepath.Join(directory, name+".yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := func(name string) string { return filepath.Join(directory, name+".yaml") }
	for name, c := range map[string]struct {
		flag string
		env  []string
		want string
	}{
		"nothing":                         {"none", nil, ""},
		"the flag alone":                  {"", nil, "default"},
		"the flag as a truth value":       {"true", nil, "default"},
		"the flag says no":                {"false", []string{"MPIIMPORT=1"}, ""},
		"the flag and MPIIMPORT_PROFILE":  {"1", []string{"MPIIMPORT_PROFILE=" + file("a")}, "a"},
		"the flag beats the variables":    {file("b"), []string{"MPIIMPORT_PROFILE=" + file("a"), "APPTAINER_MPIIMPORT=" + file("c")}, "b"},
		"Apptainer's variable":            {"none", []string{"APPTAINER_MPIIMPORT=" + file("a"), "SINGULARITY_MPIIMPORT=0"}, "a"},
		"Singularity's variable":          {"none", []string{"SINGULARITY_MPIIMPORT=1"}, "default"},
		"a variable that says no":         {"none", []string{"APPTAINER_MPIIMPORT=0", "MPIIMPORT=1"}, ""},
		"an empty variable":               {"none", []string{"APPTAINER_MPIIMPORT="}, ""},
		"MPIIMPORT alone":                 {"none", []string{"MPIIMPORT=force"}, "default"},
		"MPIIMPORT=0 switches all off":    {file("b"), []string{"MPIIMPORT=0", "APPTAINER_MPIIMPORT=1"}, ""},
		"an odd MPIIMPORT and the flag":   {"", []string{"MPIIMPORT=yes"}, "default"},
		"an odd MPIIMPORT and a variable": {"none", []string{"MPIIMPORT=yes", "APPTAINER_MPIIMPORT=1"}, "default"},
	} {
		asked := call(Exec, c.env...)
		asked.Asked, asked.Value = c.flag != "none", c.flag
		if got := profileOf(t, asked); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestEveryActionIsAccelerated(t *testing.T) {
	for _, action := range Actions {
		out, err := call(action, "MPIIMPORT=1").Decide()
		if err != nil || !slices.Equal(out.Binds, []string{"/p:/.mpiimport:ro"}) {
			t.Errorf("%s: %v %v", action, out.Binds, err)
		}
		_, entryPoint := environ.Get(out.Env, "APPTAINERENV_PYTHONPATH")
		if !slices.Equal(out.Command, []string{"python"}) || !entryPoint {
			t.Errorf("%s: command %v, entryPoint %v", action, out.Command, entryPoint)
		}
	}
	if out, _ := call("instance list", "MPIIMPORT=1").Decide(); out.Binds != nil {
		t.Error("a subcommand that starts nothing")
	}
}

func TestTheEntryLooksAtWhatFillsOrIsToldOf(t *testing.T) {
	for variable, looks := range map[string]bool{"MPIIMPORT_FILL=1": true, "MPIIMPORT_FILL=0": false, ourvars.Job + "=/d": true, "X=": false} {
		asked := call(Exec, "MPIIMPORT=1", variable)
		asked.Command = []string{"./tool"}
		out, err := asked.Decide()
		if err != nil || slices.Equal(out.Command, []string{launch.EntryPath, "--absolute", "./tool"}) != looks {
			t.Errorf("%s: %q %v", variable, out.Command, err)
		}
	}
}

func TestATaskStartsAsRanksDoWhereItsSnapshotIsMade(t *testing.T) {
	for name, c := range map[string]struct {
		env        []string
		makes, pid bool
	}{
		"a task":                    {[]string{"MPIIMPORT_FILL=snapshot"}, true, false},
		"a rank":                    {[]string{"MPIIMPORT_FILL=snapshot", "PMI_RANK=0"}, true, true},
		"a task that fills a store": {[]string{"MPIIMPORT_FILL=1"}, false, false},
		"a task that runs":          {[]string{"MPIIMPORT_CACHE=session"}, false, false},
	} {
		asked := call(Exec, append(c.env, "MPIIMPORT=1")...)
		asked.Command = []string{"python3", "-m", "task"}
		out, err := asked.Decide()
		_, pid := environ.Get(out.Env, "APPTAINERENV_"+ourvars.Pid)
		if makes := slices.Equal(out.Command, []string{"/.mpiimport/bin/python-mpi", "--absolute", "--python", "python3", "-m", "task"}); err != nil || makes != c.makes || pid != c.pid {
			t.Errorf("%s: %q, a pid %v, %v", name, out.Command, pid, err)
		}
	}
}

func TestAContainerIsToldWhatHoldsItsSandbox(t *testing.T) {
	oneNode := []string{"PMI_RANK=0", "PMI_SIZE=2", "MPI_LOCALNRANKS=2"}
	for name, c := range map[string]struct {
		image   string
		options map[string]string
		env     []string
		told    bool
	}{
		"a sandbox":                                     {t.TempDir(), nil, oneNode, true},
		"a sandbox and a layer":                         {t.TempDir(), map[string]string{"overlay": "/layer"}, oneNode, false},
		"an image that is a file":                       {os.Args[0], nil, oneNode, false},
		"two nodes":                                     {t.TempDir(), nil, []string{"PMI_RANK=0", "PMI_SIZE=4", "MPI_LOCALNRANKS=2"}, false},
		"two nodes, an image that is a file":            {os.Args[0], nil, []string{"PMI_RANK=0", "PMI_SIZE=4", "MPI_LOCALNRANKS=2"}, true},
		"a launcher inside, a sandbox":                  {t.TempDir(), nil, nil, true},
		"a launcher inside, an image that is a file":    {os.Args[0], nil, nil, true},
		"a launcher inside, a file and a layer":         {os.Args[0], map[string]string{"overlay": "/layer"}, nil, false},
		"a launcher inside, an image yet to be fetched": {"docker://py", nil, nil, false},
	} {
		asked := call(Exec, append(slices.Clone(c.env), "MPIIMPORT=1")...)
		asked.Image, asked.Options = c.image, c.options
		out, err := asked.Decide()
		kind, told := environ.Get(out.Env, "APPTAINERENV_"+ourvars.ImageOn)
		if err != nil || told != c.told || told != (kind != "") {
			t.Errorf("%s: %q %v", name, kind, err)
		}
		if told && strings.HasSuffix(kind, ourvars.ForAllRanks) != (c.env == nil) {
			t.Errorf("%s: %q", name, kind)
		}
	}
}

func TestAContainerIsToldItsImageWhereAStoreIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		image   string
		options map[string]string
		keep    string
		begins  string
	}{
		"a file":                     {os.Args[0], nil, "CACHE=auto", "file:"},
		"a file, filled":             {os.Args[0], nil, "FILL=1", "file:"},
		"a file, nothing kept":       {os.Args[0], nil, "CACHE=never", ""},
		"a sandbox":                  {"/proc/self", nil, "CACHE=auto", "proc:"},
		"a sandbox and a layer":      {"/proc/self", map[string]string{"overlay": "/layer"}, "CACHE=auto", ""},
		"an image yet to be fetched": {"docker://py", nil, "CACHE=auto", ""},
	} {
		asked := call(Exec, "MPIIMPORT=1", "MPIIMPORT_"+c.keep)
		asked.Image, asked.Options = c.image, c.options
		out, err := asked.Decide()
		identity, told := environ.Get(out.Env, "APPTAINERENV_"+ourvars.Image)
		if err != nil || told != (c.begins != "") || !strings.HasPrefix(identity, c.begins) {
			t.Errorf("%s: %q %v", name, identity, err)
		}
	}
}

func TestTheLibraryIsBroughtIntoTheContainer(t *testing.T) {
	directory := t.TempDir()
	for name, c := range map[string]struct {
		library, prepare, bind, inside string
		options                        map[string]string
	}{
		"a start":              {directory, "never", directory + ":/.mpiimport-snapshots:ro", "/.mpiimport-snapshots", nil},
		"it may be filled":     {directory, "", directory + ":/.mpiimport-snapshots:rw", "/.mpiimport-snapshots", nil},
		"without a home":       {directory, "", directory + ":/.mpiimport-snapshots:ro", "/.mpiimport-snapshots", map[string]string{"no-home": "true"}},
		"the home unmounted":   {directory, "", directory + ":/.mpiimport-snapshots:ro", "/.mpiimport-snapshots", map[string]string{"no-mount": "tmp,home"}},
		"without, but asked":   {directory, "auto", directory + ":/.mpiimport-snapshots:rw", "/.mpiimport-snapshots", map[string]string{"contain": "true"}},
		"no such directory":    {directory + "/none", "", "", directory + "/none", nil},
		"a colon in its place": {"/a:b", "", "", "/a:b", nil},
	} {
		asked := call(Exec, "MPIIMPORT=1", "MPIIMPORT_SNAPSHOTS="+c.library, "MPIIMPORT_PREPARE="+c.prepare)
		asked.Image, asked.Options = os.Args[0], c.options
		out, err := asked.Decide()
		binds := slices.DeleteFunc(out.Binds, func(bind string) bool { return strings.HasPrefix(bind, "/p:") })
		inside, _ := environ.Get(out.Env, "APPTAINERENV_"+ourvars.Snapshots)
		if err != nil || strings.Join(binds, " ") != c.bind || inside != c.inside {
			t.Errorf("%s: %q %q %v", name, binds, inside, err)
		}
		identity, _ := environ.Get(out.Env, "APPTAINERENV_"+ourvars.Image)
		if strings.HasPrefix(identity, "file:") != (c.bind != "") {
			t.Errorf("%s: the image is %q", name, identity)
		}
	}
}

func TestRanksGoByPythonMPIWhereALibraryIsBrought(t *testing.T) {
	library := "MPIIMPORT_SNAPSHOTS=" + t.TempDir()
	for name, c := range map[string]struct {
		env  []string
		want string
	}{
		"a rank":            {[]string{library, "PMI_RANK=0"}, "/.mpiimport/bin/python-mpi --absolute --python python3 app.py"},
		"a task":            {[]string{library}, "/.mpiimport/bin/mpiimport-entry --absolute python3 app.py"},
		"a rank without it": {[]string{"PMI_RANK=0"}, "python3 -S /.mpiimport/lib/mpiimport/start.py app.py"},
	} {
		asked := call(Exec, append(c.env, "MPIIMPORT=1")...)
		asked.Command = []string{"python3", "app.py"}
		out, err := asked.Decide()
		if got := strings.Join(out.Command, " "); err != nil || got != c.want {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
}

func TestMountsOfTwoStartsAreToldApart(t *testing.T) {
	seen := map[string]string{}
	for name, c := range map[string]struct {
		words []string
		env   []string
	}{
		"nothing":       {},
		"a bind":        {[]string{"exec", "-B", "/a:/opt"}, nil},
		"another":       {[]string{"exec", "-B", "/b:/opt"}, nil},
		"two":           {[]string{"exec", "-B", "/a:/opt", "-B", "/b:/opt"}, nil},
		"by a variable": {nil, []string{"APPTAINER_BIND=/a:/opt"}},
		"another home":  {nil, []string{"HOME=/home/b"}},
	} {
		asked := call(Exec, append(c.env, "MPIIMPORT=1", "MPIIMPORT_CACHE=auto")...)
		asked.Image, asked.Words = os.Args[0], c.words
		out, err := asked.Decide()
		value, _ := environ.Get(out.Env, "APPTAINERENV_"+ourvars.Image)
		image, mounts, _ := strings.Cut(value, " ")
		if err != nil || mounts == "" || seen[mounts] != "" {
			t.Errorf("%s is as %s: %q %v", name, seen[mounts], value, err)
		}
		seen[mounts] = name
		if !strings.HasPrefix(image, "file:") {
			t.Errorf("%s: %q", name, value)
		}
	}
}

func TestWhatMountsNothingTellsNoStartsApart(t *testing.T) {
	mounts := func(words, env []string) string {
		asked := call(Exec, append(env, "MPIIMPORT=1", "MPIIMPORT_CACHE=auto")...)
		asked.Image, asked.Words = os.Args[0], words
		out, err := asked.Decide()
		value, _ := environ.Get(out.Env, "APPTAINERENV_"+ourvars.Image)
		_, digest, _ := strings.Cut(value, " ")
		if err != nil || digest == "" {
			t.Fatal(value, err)
		}
		return digest
	}
	alone := mounts(nil, nil)
	for _, variable := range []string{"APPTAINER_CACHEDIR=/job/1", "SINGULARITY_TMPDIR=/job/1", "APPTAINER_CONFIGDIR=/job/1"} {
		if mounts(nil, []string{variable}) != alone {
			t.Error(variable)
		}
	}
	for _, values := range []map[string][]string{{"env": {"MASTER_ADDR=node7", "PORT=1"}}, {"pwd": {"/job/1"}}, {"env-file": {"/job/1"}}} {
		if mounts(Words(values), nil) != alone {
			t.Error(values)
		}
	}
}

// A profile that the environment names need not be visible in a container that passes the environment on.
func TestInsideAContainerAMissingProfileIsNoError(t *testing.T) {
	inside := []string{"APPTAINER_CONTAINER=/img", "MPIIMPORT=1", "MPIIMPORT_PROFILE=site"}
	c := call(Exec, inside...)
	out, err := c.Decide()
	if err != nil || !strings.Contains(out.Note, `no profile "site"`) || out.Binds != nil || !slices.Equal(out.Command, c.Command) {
		t.Errorf("%q %v", out.Note, err)
	}
	c.Asked, c.Value = true, "site"
	if _, err := c.Decide(); err == nil {
		t.Error("the flag was typed in here")
	}
	if _, err := call(Exec, inside[1:]...).Decide(); err == nil {
		t.Error("outside of containers it is a mistake")
	}
}

func TestAPlanInTheEnvironmentTakesThePlaceOfTheProfile(t *testing.T) {
	plan := launch.Plan{Profile: "gone", Mounts: []launch.Mount{{Source: "/p", Target: launch.Inside, Options: "ro"}, {Source: "/s", Target: "/t", Options: "ro"}},
		Environment: []launch.Variable{{Name: "A", Value: "b", Change: launch.Set}}}
	text, err := launch.WriteShared(launch.Shared{Plan: plan}, launch.Key{Prefix: "/p", Profile: "gone"})
	if err != nil {
		t.Fatal(err)
	}
	c := call(Exec, ourvars.Plan+"="+text, "MPIIMPORT=1", "MPIIMPORT_PROFILE=gone", "PYTHONPATH=/p/lib/mpiimport/pythonpath:/u")
	out, err := c.Decide()
	if err != nil || !slices.Equal(out.Binds, []string{"/p:/.mpiimport:ro", "/s:/t:ro"}) || !slices.Equal(out.Command, c.Command) {
		t.Fatalf("%+v %v", out, err)
	}
	if value, _ := environ.Get(out.Env, "APPTAINERENV_A"); value != "b" {
		t.Error("the plan's environment is missing")
	}
	if _, there := environ.Get(out.Env, ourvars.Plan); there {
		t.Error("the plan goes on into the container")
	}
	if path, _ := environ.Get(out.Env, "PYTHONPATH"); path != "/u" {
		t.Error("the entry point for the host's pythons goes on into the container:", path)
	}
	c.Asked, c.Value = true, "other"
	if _, err := c.Decide(); err == nil {
		t.Error("the flag names another profile, which does not exist")
	}
	c.Asked, c.Options = false, map[string]string{"fakeroot": "true"}
	if _, err := c.Decide(); err == nil {
		t.Error("a user namespace needs a plan of its own, and the profile does not exist")
	}
}
