package start

import (
	"os"
	"path/filepath"

	"mpiimport.org/hooks/internal/environ"
	"mpiimport.org/hooks/internal/handover"
	"mpiimport.org/hooks/internal/prefix"
	"mpiimport.org/hooks/launch"
	"mpiimport.org/hooks/profile"
)

// plan returns the job's plan where the environment holds one that was made for such a start, else makes one.
func (c Call) plan(w wish) (launch.Plan, error) {
	request := launch.Request{
		Prefix:        c.Prefix,
		UserNamespace: !c.Root || c.On("userns") || c.On("fakeroot"),
		Environ:       c.Env,
		Exists:        exists,
		Glob:          filepath.Glob,
	}
	// Only exec's command line is ours: what an image's scripts are, and who interprets them, the runtime knows.
	if c.Action == Exec {
		request.Command = c.Command
	}
	if text, ok := environ.Get(c.Env, handover.Plan); ok {
		if shared, ok := launch.ReadShared(text, launch.Key{Prefix: c.Prefix, Profile: w.profile, UserNamespace: request.UserNamespace}); ok {
			return shared.For(request), nil
		}
	}
	chosen, err := profile.Load(w.profile, profile.Directories(c.Prefix, c.Env))
	if err != nil {
		return launch.Plan{}, err
	}
	return launch.Resolve(chosen, request)
}

// environment keeps out of containers what is meant for processes out here: the job's plan, and the door through which
// pythons of the host activate.
func (c Call) environment() []string {
	return environ.DropPath(environ.Unset(c.Env, handover.Plan), "PYTHONPATH", prefix.SiteDirectory(c.Prefix))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
