/* Slurm's plugin: `srun --mpiimport[=PROFILE]` does for the tasks of a step what `mpiimport run` does for a launcher's
 * ranks. See spank(8) and docs/slurm.md. PREFIX is where mpiimport is installed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <slurm/spank.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

SPANK_PLUGIN(mpiimport, 1)

#define SHIMS PREFIX "/shim"
/* So long may NAME=value be: MAX_ARG_STRLEN of <linux/binfmts.h>. SECONDS are for the removal of what is left behind, which has
 * no more DESCRIPTORS than that. */
enum { LONGEST = 131072, SECONDS = 60, DESCRIPTORS = 1024 };

/* As the step's option says, or the site's default. */
static enum { NOT_SAID, WANTED, UNWANTED } wish;
static char profile[PATH_MAX];

static int is_either(const char *value, const char *one, const char *other) {
    return !strcmp(value, one) || !strcmp(value, other);
}

/* Writes ENTRY:LIST, unless the list begins so or a variable of this name cannot hold it. */
static int put_in_front(const char *name, const char *entry, const char *list, char *into) {
    size_t size = strlen(entry);
    /* Where there is no PATH the C library has directories of its own. */
    if ((!*list && !strcmp(name, "PATH")) || (!strncmp(list, entry, size) && (!list[size] || list[size] == ':')))
        return 0;
    int most = LONGEST - (int)strlen(name) - 1;
    return snprintf(into, (size_t)most, "%s%s%s", entry, *list ? ":" : "", list) < most;
}

/* srun itself looks for the program of the tasks, and hands its path on: it is to find the shim. */
static void find_shim_first(void) {
    const char *path = getenv("PATH"), *mode = getenv("MPIIMPORT");
    static char changed[LONGEST];
    if (path && !(mode && !strcmp(mode, "0")) && !access(SHIMS, X_OK) && put_in_front("PATH", SHIMS, path, changed))
        setenv("PATH", changed, 1);
}

/* Whether a profile can be taken; what is wrong with it is printed. Where mpiimport is not installed, nodes will see. */
static int can_be_taken(const char *name) {
    static char program[] = PREFIX "/bin/mpiimport-plan", show[] = "show", option[] = "--profile";
    char *command[] = {program, show, option, (char *)name, 0};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    if (strchr(name, '/') && *name != '/') {
        slurm_error("mpiimport: steps may have other directories: name the profile %s by its absolute path", name);
        return 0;
    }
    if (posix_spawn_file_actions_init(&actions))
        return 1;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawn(&child, program, &actions, 0, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed || waitpid(child, &status, 0) != child || !WIFEXITED(status) || !WEXITSTATUS(status) ||
           WEXITSTATUS(status) == 127;
}

/* The value is a profile, or yes or no: see docs/plugin.md. Slurm hands none on as (null) from a job to its steps. */
static int take_option(int unused, const char *value, int is_remote) {
    (void)unused;
    profile[0] = 0;
    wish = value && is_either(value, "0", "false") ? UNWANTED : WANTED;
    if (wish == WANTED && !is_remote)
        find_shim_first();
    if (wish == UNWANTED || !value || !*value || is_either(value, "1", "true") || !strcmp(value, "(null)"))
        return 0;
    if (strlen(value) >= sizeof profile) {
        slurm_error("mpiimport: the profile's path is too long");
        return -1;
    }
    strcpy(profile, value);
    return is_remote || can_be_taken(profile) ? 0 : -1;
}

static int is_default(int count, char **arguments) {
    return count > 0 && !strcmp(arguments[0], "default");
}

/* The only argument of the line in plugstack.conf is `default`: also for steps without the option. */
int slurm_spank_slurmd_init(spank_t spank, int count, char **arguments) {
    (void)spank;
    if (count > is_default(count, arguments))
        slurm_error("mpiimport: plugstack.conf has an unknown argument: %s", arguments[is_default(count, arguments)]);
    return 0;
}

int slurm_spank_init(spank_t spank, int count, char **arguments) {
    static char name[] = "mpiimport", placeholder[] = "PROFILE";
    static char usage[] = "start Python programs and containers through mpiimport (0: do not)";
    static struct spank_option option = {name, placeholder, usage, 2, 0, take_option};
    spank_context_t context = spank_context();
    if (is_default(count, arguments)) {
        wish = WANTED;
        if (context == S_CTX_LOCAL)
            find_shim_first();
    }
    if (context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR || context == S_CTX_REMOTE)
        spank_option_register(spank, &option);
    return 0;
}

static void prepend(spank_t spank, const char *name, const char *entry) {
    static char value[LONGEST], changed[LONGEST];
    spank_err_t found = spank_getenv(spank, name, value, sizeof value);
    if (found == ESPANK_ENV_NOEXIST)
        *value = 0;
    if ((found == ESPANK_SUCCESS || found == ESPANK_ENV_NOEXIST) && put_in_front(name, entry, value, changed))
        spank_setenv(spank, name, changed, 1);
}

/* Once on each node of a step, as its user, before there is any task. */
int slurm_spank_user_init(spank_t spank, int count, char **arguments) {
    (void)count, (void)arguments;
    char mode[8] = "";
    spank_err_t found = spank_getenv(spank, "MPIIMPORT", mode, sizeof mode);
    if (wish == UNWANTED && found != ESPANK_ENV_NOEXIST)
        /* The job, or another step, has it. */
        spank_setenv(spank, "MPIIMPORT", "0", 1);
    if (wish != WANTED || (found == ESPANK_SUCCESS && !strcmp(mode, "0")))
        return 0;
    if (eaccess(SHIMS, X_OK)) {
        slurm_spank_log("mpiimport: %s: %s; the tasks of this node run as without --mpiimport", SHIMS, strerror(errno));
        return 0;
    }
    if (!*mode)
        spank_setenv(spank, "MPIIMPORT", "1", 1);
    if (*profile)
        spank_setenv(spank, "MPIIMPORT_PROFILE", profile, 1);
    prepend(spank, "PATH", SHIMS);
    prepend(spank, "PYTHONPATH", PREFIX "/lib/mpiimport/pythonpath");
    return 0;
}

/* Have a user's `mpiimport session ACTION` done. `variable`: what it is to know of the job. */
static void have_done(uid_t user, gid_t group, const char *action, char *variable) {
    pid_t child = fork();
    if (child > 0)
        while (waitpid(child, 0, 0) < 0 && errno == EINTR)
            ;
    if (child)
        return;
    int none = open("/dev/null", O_RDWR);
    for (int stream = 0; stream < 3; stream++)
        dup2(none, stream);
    for (int descriptor = 3; descriptor < DESCRIPTORS; descriptor++)
        close(descriptor);
    char *const variables[] = {"PATH=/usr/bin:/bin", variable, 0};
    if (!setgroups(0, 0) && !setresgid(group, group, group) && !setresuid(user, user, user) && !chdir("/")) {
        sigset_t nothing;
        sigemptyset(&nothing);
        sigprocmask(SIG_SETMASK, &nothing, 0);
        /* Slurm ends what the job has still, and this with it. */
        signal(SIGTERM, SIG_IGN);
        alarm(SECONDS);
        execle(PREFIX "/bin/mpiimport", "mpiimport", "session", action, (char *)0, variables);
    }
    _exit(127);
}

static int is_directory_of(const char *path, uid_t user) {
    struct stat status;
    return !lstat(path, &status) && S_ISDIR(status.st_mode) && status.st_uid == user;
}

/* Snapshots that `mpiimport run` has sent to a job's nodes go. The directory lets nobody but their user put anything in their place. */
static void remove_sent(uid_t user, spank_t spank) {
    uint32_t job;
    char pattern[96];
    glob_t found;
    struct stat status;
    if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS)
        return;
    snprintf(pattern, sizeof pattern, "/dev/shm/mpiimport-%u.*.snapshot.%u", user, job);
    if (glob(pattern, GLOB_NOSORT, 0, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (!lstat(found.gl_pathv[i], &status) && S_ISREG(status.st_mode) && status.st_uid == user)
            unlink(found.gl_pathv[i]);
    globfree(&found);
}

/* Once on each node of a step, as root, when its tasks have ended: what killed ones have left goes. */
int slurm_spank_exit(spank_t spank, int count, char **arguments) {
    (void)count, (void)arguments;
    uid_t user;
    gid_t group;
    char pattern[64];
    glob_t found;
    if (spank_remote(spank) != 1 || geteuid() || spank_get_item(spank, S_JOB_UID, &user) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_GID, &group) != ESPANK_SUCCESS)
        return 0;
    remove_sent(user, spank);
    snprintf(pattern, sizeof pattern, "/dev/shm/mpiimport-%u.*", user);
    if (glob(pattern, GLOB_NOSORT, 0, &found))
        return 0;
    /* Others may make such names. */
    size_t own = 0;
    while (own < found.gl_pathc && !is_directory_of(found.gl_pathv[own], user))
        own++;
    if (own < found.gl_pathc)
        have_done(user, group, "sweep", 0);
    globfree(&found);
    return 0;
}

/* Once on each node of a job, as root, when that has ended: the stores go that it has kept. */
int slurm_spank_job_epilog(spank_t spank, int count, char **arguments) {
    (void)count, (void)arguments;
    uint32_t job;
    uid_t user;
    char place[64], variable[32];
    if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS || spank_get_item(spank, S_JOB_UID, &user) != ESPANK_SUCCESS)
        return 0;
    remove_sent(user, spank);
    snprintf(place, sizeof place, "/dev/shm/mpiimport-cache.%u.%u", user, job);
    snprintf(variable, sizeof variable, "SLURM_JOB_ID=%u", job);
    struct passwd *account = is_directory_of(place, user) ? getpwuid(user) : 0;
    if (account)
        have_done(user, account->pw_gid, "stop", variable);
    return 0;
}
