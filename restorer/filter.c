#include "filter.h"
#include "kernel.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

enum { LONGEST = 128, LAST_STREAM = 2 };

static struct sock_filter program[LONGEST];
static word size;

static void add(unsigned short code, unsigned value, word if_true, word if_false) {
    if (size < LONGEST)
        program[size++] = (struct sock_filter){code, (unsigned char)if_true, (unsigned char)if_false, value};
}

static void load(word offset) {
    add(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0, 0);
}

/* Continue at `target` for each of these numbers. */
static void leave_for(const int *numbers, word count, word target) {
    for (word i = 0; i < count; i++)
        add(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i], target - size - 1, 0);
}

void filter_calls(const int *harmless, word harmless_count, const int *of_streams, word stream_count) {
    /* Where what follows the numbers begins: ask; look at the descriptor; let pass. */
    word ask = 3 + harmless_count + stream_count, streams = ask + 1, pass = streams + 3;
    load(offsetof(struct seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 0, ask - size - 1);
    load(offsetof(struct seccomp_data, nr));
    leave_for(harmless, harmless_count, pass);
    leave_for(of_streams, stream_count, streams);
    add(BPF_RET | BPF_K, SECCOMP_RET_TRACE, 0, 0);
    load(offsetof(struct seccomp_data, args[0]));
    add(BPF_JMP | BPF_JGT | BPF_K, LAST_STREAM, pass - size - 1, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_TRACE, 0, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    struct sock_fprog filter = {(unsigned short)size, program};
    if (size == LONGEST || kernel5(__NR_prctl, PR_GET_SECCOMP, 0, 0, 0, 0))
        return;
    if (kernel5(__NR_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) &&
        !kernel5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        kernel5(__NR_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
}
