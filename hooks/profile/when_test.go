package profile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheFirstProfileThatFitsIsTakenAndEachSaysWhy(t *testing.T) {
	shipped, site, own := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range []string{"a-gpu", "plain", "b-host", "c-both", "default"} {
		write(t, site, name, map[string]string{
			"a-gpu":  "when: {partition: [gpu, 'gpu-*']}",
			"b-host": "when: {hosts: ['nid*']}",
			"c-both": "when: {variables: {KIND: '*/big', SITE: s}}\nextends: a-gpu",
		}[name])
	}
	write(t, own, "mine", "when: {variables: {MINE: '*'}}")
	write(t, own, "b-host", "# The site's is masked, whatever is said of when.")
	write(t, shipped, "never", "when: {hosts: ['*']}")
	if err := os.Mkdir(filepath.Join(site, "when.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		host string
		env  []string
		want []string
	}{
		"nothing fits": {"login1", nil, []string{"mine: MINE is not set, and when.variables.MINE wants * (line 4)",
			"a-gpu: none of SLURM_JOB_PARTITION, PBS_QUEUE, LSB_QUEUE is set, and when.partition wants [gpu gpu-*] (line 4)",
			"c-both: KIND is not set, and when.variables.KIND wants */big (line 4)", "default: for nothing else is named"}},
		"Slurm":      {"login1", []string{"SLURM_JOB_PARTITION=gpu-a100"}, []string{"mine: ", "a-gpu: all of its `when` fits"}},
		"PBS":        {"login1", []string{"PBS_QUEUE=gpu"}, []string{"mine: ", "a-gpu: all"}},
		"LSF":        {"login1", []string{"LSB_QUEUE=gpu"}, []string{"mine: ", "a-gpu: all"}},
		"a host":     {"nid01.site.example", []string{"PBS_QUEUE=cpu"}, []string{"mine: ", `a-gpu: PBS_QUEUE is "cpu", and`, "c-both: ", "default: "}},
		"variables":  {"login1", []string{"KIND=very/very/big", "SITE=s"}, []string{"mine: ", "a-gpu: ", "c-both: all"}},
		"one of two": {"login1", []string{"KIND=big/big", "SITE=t"}, []string{"mine: ", "a-gpu: ", `c-both: SITE is "t"`, "default: "}},
		"one's own":  {"login1", []string{"MINE=", "PBS_QUEUE=gpu"}, []string{"mine: all"}},
	} {
		got := unnamed([]string{shipped, site, own}, c.host, c.env)
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		for i, want := range c.want {
			if line := got[i].Profile + ": " + got[i].Why; !strings.HasPrefix(line, want) || got[i].Taken != (i == len(got)-1) {
				t.Errorf("%s: %s, want %s", name, line, want)
			}
		}
	}
}

func TestAnExtendingProfileHasConditionsOfItsOwnAlone(t *testing.T) {
	directory := t.TempDir()
	write(t, directory, "base", "when: {hosts: [a]}")
	write(t, directory, "site", "extends: base")
	p, err := Load("site", []string{directory})
	if err != nil || len(saidBy(p)) > 0 || len(p.Values) != 4 {
		t.Errorf("%+v %v", p.Values, err)
	}
}

func TestADefaultWithAConditionThatDoesNotHoldIsNotTaken(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	own := filepath.Join(t.TempDir(), "mpiimport", "profiles")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, own, "default", "when: {variables: {KIND: big}}\nenvironment: {set: {A: a}}")
	caller := []string{"XDG_CONFIG_HOME=" + filepath.Dir(filepath.Dir(own))}
	for want, env := range map[int][]string{0: caller, 1: append(caller, "KIND=big")} {
		p, err := Find("", t.TempDir(), env)
		if err != nil || len(p.Environment.Set) != want {
			t.Errorf("%v: %+v %v", env, p, err)
		}
	}
}

func TestWhatIsBrokenIsPassedOverWhereNobodyNamedIt(t *testing.T) {
	shipped, site, own := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, site, "a", "when: {host: [a]}")
	write(t, site, "b", "when: {hosts: [a]}\nextends: lost")
	write(t, site, "c", "when: {hosts: [a]}\nenvironment: {set: {A: c}}")
	write(t, site, "default", "environment: {set: {A: site}}")
	write(t, own, "c", "when: {hosts: [a]}\nenvironment: {st: {A: own}}")
	write(t, own, "default", "mount: []")
	for host, want := range map[string][]string{
		"a": {"c: it is broken: " + own + "/c.yaml:5: environment has no key", "default: it is broken: " + own + "/default.yaml:4: ",
			"a: it is broken: " + site + "/a.yaml:4: when has no key", "b: it is broken: there is no profile \"lost\"", "c: all of"},
		"b": {"c: it is broken: ", "default: it is broken: ", "a: it is broken: ", "b: this host is b", "c: this host is b", "default: for nothing"},
	} {
		got := unnamed([]string{shipped, site, own}, host, nil)
		if len(got) != len(want) {
			t.Errorf("%s: %+v", host, got)
			continue
		}
		for i, c := range got {
			if !strings.HasPrefix(c.Profile+": "+c.Why, want[i]) || strings.Contains(c.Why, "\n") || c.Taken != (i == len(got)-1) {
				t.Errorf("%s: %+v, want %s", host, c, want[i])
			}
		}
		if value := got[len(got)-1].said.Environment.Set["A"]; value != map[string]string{"a": "c", "b": "site"}[host] {
			t.Errorf("%s: A is %q", host, value)
		}
	}
}

func TestShippedProfilesAreTakenByNameAlone(t *testing.T) {
	for _, name := range Names([]string{"../../mpiimport/profiles"}) {
		p, err := readFile(filepath.Join("../../mpiimport/profiles", name+".yaml"))
		if err != nil || name == DefaultName {
			t.Fatal(name, err)
		}
		for _, v := range p.Values {
			if strings.HasPrefix(v.Key, whenPart) {
				t.Errorf("%s:%d: nobody would look at this", v.File, v.Line)
			}
		}
	}
}
