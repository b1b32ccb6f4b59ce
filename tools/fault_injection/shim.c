/* Counts what a process does to files below a folder, and lets the k-th of these calls fail, or
 * ends the process in its place.
 *
 * Loaded before the C library (LD_PRELOAD), because a patch of Python's functions would miss what
 * pyarrow, safetensors and torch write by themselves: C++ and Rust call the same functions of the C
 * library as Python does. Streams of C (fwrite) reach the kernel past these functions and are
 * counted where they are flushed or closed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX];
static volatile long counter, chosen;
static volatile int number, armed;
static char trace[1 << 16];
static volatile int traced;

/* The k-th call fails with this error; 0 ends the process, -1 counts only. */
void fault_arm(const char *below, long k, int error) {
    strncpy(folder, below, sizeof folder - 1);
    counter = 0; chosen = k; number = error; traced = 0;
    armed = 1;
}
long fault_count(void) { return counter; }
void fault_disarm(void) { armed = 0; }
/* The names of the calls that were counted, with blanks between them. */
const char *fault_trace(void) { trace[traced] = 0; return trace; }

static int below(const char *path) {
    if (!path) return 0;
    if (path[0] == '/') return !strncmp(path, folder, strlen(folder));
    char here[PATH_MAX];
    if (!getcwd(here, sizeof here)) return 0;
    return !strncmp(here, folder, strlen(folder));
}
static int below_descriptor(int descriptor) {
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    ssize_t size = readlink(name, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    return !strncmp(path, folder, strlen(folder));
}
static int below_at(int at, const char *path) {
    return path && path[0] != '/' && at != AT_FDCWD ? below_descriptor(at) : below(path);
}

/* Whether this call is the one that fails. */
static int meant(const char *what) {
    if (!armed) return 0;
    long mine = __sync_add_and_fetch(&counter, 1);
    int size = strlen(what);
    if (traced + size + 2 < (int)sizeof trace) {
        memcpy(trace + traced, what, size);
        trace[traced + size] = ' ';
        traced += size + 1;
    }
    return number >= 0 && mine == chosen;
}
static void end(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

#define FAULT(what, concerned, failed) \
    if (armed && (concerned) && meant(what)) { if (!number) end(); errno = number; return failed; }
#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name);

/* A process that is killed may have written a part. */
ssize_t write(int descriptor, const void *data, size_t size) {
    REAL(write)
    if (armed && below_descriptor(descriptor) && meant("write")) {
        if (!number) { if (size > 1) real(descriptor, data, size / 2); end(); }
        errno = number;
        return -1;
    }
    return real(descriptor, data, size);
}
ssize_t pwrite64(int d, const void *data, size_t size, off64_t at) {
    REAL(pwrite64) FAULT("write", below_descriptor(d), -1) return real(d, data, size, at);
}
ssize_t writev(int d, const struct iovec *parts, int count) {
    REAL(writev) FAULT("write", below_descriptor(d), -1) return real(d, parts, count);
}
int fsync(int d) { REAL(fsync) FAULT("fsync", below_descriptor(d), -1) return real(d); }
int fdatasync(int d) { REAL(fdatasync) FAULT("fsync", below_descriptor(d), -1) return real(d); }
int ftruncate64(int d, off64_t size) {
    REAL(ftruncate64) FAULT("truncate", below_descriptor(d), -1) return real(d, size);
}
int rename(const char *from, const char *to) {
    REAL(rename) FAULT("rename", below(to), -1) return real(from, to);
}
int renameat(int a, const char *from, int b, const char *to) {
    REAL(renameat) FAULT("rename", below_at(b, to), -1) return real(a, from, b, to);
}
int unlink(const char *path) { REAL(unlink) FAULT("unlink", below(path), -1) return real(path); }
int unlinkat(int at, const char *path, int flags) {
    REAL(unlinkat) FAULT("unlink", below_at(at, path), -1) return real(at, path, flags);
}
int rmdir(const char *path) { REAL(rmdir) FAULT("rmdir", below(path), -1) return real(path); }
int mkdir(const char *path, mode_t mode) {
    REAL(mkdir) FAULT("mkdir", below(path), -1) return real(path, mode);
}
int chmod(const char *path, mode_t mode) {
    REAL(chmod) FAULT("chmod", below(path), -1) return real(path, mode);
}
int open64(const char *path, int flags, ...) {
    va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more);
    static int (*real)(const char *, int, ...);
    if (!real) real = dlsym(RTLD_NEXT, "open64");
    FAULT("open", (flags & (O_CREAT | O_WRONLY | O_RDWR)) && below(path), -1)
    return real(path, flags, mode);
}
int open(const char *path, int flags, ...) {
    va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more);
    static int (*real)(const char *, int, ...);
    if (!real) real = dlsym(RTLD_NEXT, "open");
    FAULT("open", (flags & (O_CREAT | O_WRONLY | O_RDWR)) && below(path), -1)
    return real(path, flags, mode);
}
int openat64(int at, const char *path, int flags, ...) {
    va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more);
    static int (*real)(int, const char *, int, ...);
    if (!real) real = dlsym(RTLD_NEXT, "openat64");
    FAULT("open", (flags & (O_CREAT | O_WRONLY | O_RDWR)) && below_at(at, path), -1)
    return real(at, path, flags, mode);
}
FILE *fopen64(const char *path, const char *mode) {
    REAL(fopen64) FAULT("open", below(path) && strpbrk(mode, "wa+"), NULL) return real(path, mode);
}
int fflush(FILE *file) {
    REAL(fflush) FAULT("write", file && below_descriptor(fileno(file)), EOF) return real(file);
}
int fclose(FILE *file) {
    REAL(fclose)
    if (armed && (fcntl(fileno(file), F_GETFL) & O_ACCMODE) != O_RDONLY
        && below_descriptor(fileno(file)) && meant("write")) {
        if (!number) end();
        real(file);
        errno = number;
        return EOF;
    }
    return real(file);
}
