package snapshotstart

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"mpiimport.org/hooks/internal/leaves/descriptors"
	"mpiimport.org/hooks/internal/leaves/environ"
	"mpiimport.org/hooks/internal/leaves/ourvars"
	"mpiimport.org/hooks/internal/leaves/prefix"
	"mpiimport.org/hooks/internal/leaves/rankenv"
	"mpiimport.org/hooks/internal/leaves/regularfile"
	"mpiimport.org/hooks/internal/leaves/snapshotlibrary"
	"mpiimport.org/hooks/internal/leaves/storecache"
)

// Words of python-mpi. Beside: what follows is started, and goes on beside a job when this process has ended. Until: what follows runs
// until the program ends that programFile refers to.
const (
	Beside = "--beside"
	Until  = "--until"
)

// tried has, by key, an empty file for each program of which a job has had a snapshot made; or why there is none.
const tried = "tried"

// making is a file there that the process has locked that makes a snapshot: one at a time. lockFile is its descriptor, programFile that
// of the program beside which it is made: pidfd_open(2).
const (
	making      = "making"
	lockFile    = 3
	programFile = 4
)

// rest is how long nothing is tried again. Whatever came of it, the next job would do the same.
const rest = time.Hour

// Prepare has the snapshot of a program made by a process beside this one, for later jobs, if nobody has tried within an hour. It says
// whether that has begun. Without the site's or user's wish only what a person has prepared is made anew. Of a job one rank does it.
func Prepare(installed, python string, options, words, env []string) bool {
	if !mayPrepare(env) || !maySearch(options, words, env) || isFull(env) {
		return false
	}
	library := libraryOf(installed, env)
	key, _, err := Key(installed, python, options, words, env)
	if library == "" || err != nil || !ourvars.PreparesAlways(env) && !hasSnapshot(filepath.Join(library, key)) {
		return false
	}
	if snapshotlibrary.Make(library, env) != nil {
		return false
	}
	library, _ = snapshotlibrary.There(library)
	place := filepath.Join(library, tried)
	if !storecache.IsOwn(library) || os.MkdirAll(place, 0o700) != nil {
		return false
	}
	lock, err := os.OpenFile(filepath.Join(place, making), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == syscall.EWOULDBLOCK {
		return false
	}
	mark := filepath.Join(place, key)
	if info, err := os.Lstat(mark); err == nil && time.Since(info.ModTime()) < rest {
		return false
	}
	if os.Remove(mark); os.WriteFile(mark, nil, 0o600) != nil {
		return false
	}
	line := []string{Beside, Python, python}
	if python == Usual {
		line = line[:1]
	}
	for _, option := range options {
		line = append(line, Option, option)
	}
	beside := exec.Command(prefix.PythonMPI(installed), slices.Concat(line, words)...)
	beside.Env = environ.Set(environ.Set(env, ourvars.Fill, ourvars.FillBeside), ourvars.Snapshots, library)
	// Another process may activate there.
	beside.Env = environ.Unset(environ.Set(beside.Env, ourvars.Mode, "1"), ourvars.Pid)
	beside.ExtraFiles = []*os.File{lock}
	return beside.Run() == nil
}

// mayPrepare says whether this process is the one of its job that has snapshots made, where somebody wants it.
func mayPrepare(env []string) bool {
	return !ourvars.PreparesNever(env) && rankenv.SpeaksForJob(env) && os.Getpid() != 1
}

// hasSnapshot says whether an entry has one, of whatever kind of machine. One whose snapshots were removed has none.
func hasSnapshot(entry string) bool {
	images, _ := filepath.Glob(filepath.Join(entry, "*", "image"))
	return len(images) > 0
}

// WhyTried returns why a job that has had a snapshot made got none; it is empty where there is one, or none was tried.
func WhyTried(library, key string) string {
	text, _ := regularfile.Read(filepath.Join(library, tried, key))
	return strings.TrimSpace(string(text))
}

// GoOnBeside starts python-mpi with words, in a session of its own, by which it leaves the processors to the job. This process, whose
// child it is, is to end. In the container of an image file it ends with the program: the runtime waits for what uses the mount.
func GoOnBeside(installed string, words, env []string) error {
	// What follows concerns one thread, and what that starts.
	runtime.LockOSThread()
	_, _ = syscall.Setsid()
	var unused int32 // struct sched_param
	_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, 0, idle, uintptr(unsafe.Pointer(&unused)))
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, lowest)
	// sched(7), "The autogroup feature"; proc(5).
	_ = os.WriteFile("/proc/self/autogroup", []byte("19"), 0)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	descriptors.CloseInherited(lockFile)
	if image, _ := environ.Get(env, ourvars.Image); strings.HasPrefix(image, ourvars.ImageFile) {
		// Linux 5.2 and older lack it: the runtime waits there.
		if program, err := unix.PidfdOpen(os.Getppid(), 0); err == nil {
			return maker(installed, slices.Insert(slices.Clone(words), 0, Until), os.NewFile(uintptr(program), "program")).Start()
		}
	}
	return maker(installed, words).Start()
}

// RunUntil runs python-mpi with words, and ends this process group once the program beside it has ended.
func RunUntil(installed string, words []string) error {
	unix.CloseOnExec(programFile)
	command := maker(installed, words)
	if err := command.Start(); err != nil {
		return err
	}
	go func() {
		ended := []unix.PollFd{{Fd: programFile, Events: unix.POLLIN}}
		for {
			if _, err := unix.Poll(ended, -1); err != unix.EINTR {
				break
			}
		}
		_ = unix.Kill(0, unix.SIGKILL)
	}()
	return command.Wait()
}

// maker returns the start of python-mpi with words, to which the lock is handed on, and more files behind it.
func maker(installed string, words []string, more ...*os.File) *exec.Cmd {
	command := exec.Command(prefix.PythonMPI(installed), words...)
	command.ExtraFiles = append([]*os.File{os.NewFile(lockFile, making)}, more...)
	return command
}

// idle is SCHED_IDLE of <linux/sched.h>, lowest the last of the nice values.
const (
	idle   = 5
	lowest = 19
)

// isFull says whether the ranks of this node are bound to all of its processors: then none is free.
func isFull(env []string) bool {
	own, all := runtime.NumCPU(), processors("/sys/devices/system/cpu/online")
	if all == 0 || own >= all {
		return false
	}
	return rankenv.IsRank(env) && (rankenv.LocalRanks(env) == 0 || own*rankenv.LocalRanks(env) >= all)
}

// processors returns how many a list of the kernel's has, such as 0-3,8; 0 where it cannot be read.
func processors(file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	count := 0
	for _, part := range strings.Split(strings.TrimSpace(string(text)), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		begin, err := strconv.Atoi(first)
		end, wrong := strconv.Atoi(last)
		if err != nil || wrong != nil || end < begin {
			return 0
		}
		count += end - begin + 1
	}
	return count
}
