/* System calls without a C library: syscall(2). */
#ifndef RESTORER_KERNEL_H
#define RESTORER_KERNEL_H

#include PROCESSOR

#define kernel3(number, a, b, c) kernel6(number, (word)(a), (word)(b), (word)(c), 0, 0, 0)
#define kernel4(number, a, b, c, d) kernel6(number, (word)(a), (word)(b), (word)(c), (word)(d), 0, 0)
#define kernel5(number, a, b, c, d, e) kernel6(number, (word)(a), (word)(b), (word)(c), (word)(d), (word)(e), 0)

#endif
