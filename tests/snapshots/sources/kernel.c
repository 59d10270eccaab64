/* As where the kernel was built without CONFIG_CHECKPOINT_RESTORE. */
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>
#include <sys/syscall.h>
int prctl(int option, ...) {
    va_list rest;
    va_start(rest, option);
    long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long), d = va_arg(rest, long);
    errno = EINVAL;
    return option == 40 ? -1 : syscall(SYS_prctl, option, a, b, c, d);
}
