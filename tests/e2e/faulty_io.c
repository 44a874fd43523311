/* Preloaded into a broker by faulty_test.py: its system calls are cut short, interrupted or refused, as kernels may do.
 *
 *   FAULTY_SHORT=1        reads, writes, sends and sendfiles move fewer bytes than asked for, or end with EINTR or EAGAIN
 *   FAULTY_SWITCH=FILE    once FILE exists, writes and syncs of files under FAULTY_UNDER end with EIO
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <stdio.h>

#define REAL(name) ((__typeof__(&name))real(#name))

static void* real(const char* name) { return dlsym(RTLD_NEXT, name); }

static unsigned next(void) {
  static _Thread_local unsigned state;
  if (state == 0) state = (unsigned)(size_t)&state | 1;
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}
static int is_short(void) {
  static int known = -1;
  if (known < 0) known = getenv("FAULTY_SHORT") != NULL;
  return known;
}
/* One call in four is interrupted. */
static int interrupts(void) {
  if (!is_short() || next() % 4 != 0) return 0;
  errno = EINTR;
  return 1;
}
static int would_block(void) {
  if (!is_short() || next() % 8 != 0) return 0;
  errno = EAGAIN;
  return 1;
}
static size_t fewer(size_t count) { return is_short() && count > 1 && next() % 2 ? 1 + next() % count : count; }

static int refuses(int descriptor) {
  char const* const when = getenv("FAULTY_SWITCH");
  char const* const under = getenv("FAULTY_UNDER");
  if (when == NULL || under == NULL || access(when, F_OK) != 0) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t const length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  if (strncmp(path, under, strlen(under)) != 0) return 0;
  errno = EIO;
  return 1;
}

/* The vectors cut to `count` bytes; returns how many are left. */
static int cut(struct iovec const* from, int vectors, struct iovec* to, size_t count) {
  int left = 0;
  for (; left < vectors && count > 0; ++left) {
    to[left] = from[left];
    if (to[left].iov_len > count) to[left].iov_len = count;
    count -= to[left].iov_len;
  }
  return left;
}
static size_t sum(struct iovec const* vectors, int count) {
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += vectors[i].iov_len;
  return bytes;
}

ssize_t pwritev64(int descriptor, struct iovec const* vectors, int count, off64_t position) {
  if (refuses(descriptor)) return -1;
  if (interrupts()) return -1;
  struct iovec some[1024];
  return REAL(pwritev64)(descriptor, some, cut(vectors, count, some, fewer(sum(vectors, count))), position);
}
ssize_t pwritev(int descriptor, struct iovec const* vectors, int count, off_t position) {
  return pwritev64(descriptor, vectors, count, position);
}
ssize_t preadv64v2(int descriptor, struct iovec const* vectors, int count, off64_t position, int flags) {
  if (interrupts()) return -1;
  struct iovec some[1024];
  return REAL(preadv64v2)(descriptor, some, cut(vectors, count, some, fewer(sum(vectors, count))), position, flags);
}
ssize_t preadv2(int descriptor, struct iovec const* vectors, int count, off_t position, int flags) {
  return preadv64v2(descriptor, vectors, count, position, flags);
}
ssize_t write(int descriptor, void const* data, size_t count) {
  if (refuses(descriptor)) return -1;
  if (count == 8) return REAL(write)(descriptor, data, count); /* an eventfd takes its 8 bytes at once */
  if (interrupts()) return -1;
  return REAL(write)(descriptor, data, fewer(count));
}
ssize_t read(int descriptor, void* data, size_t count) {
  if (count == 8) return REAL(read)(descriptor, data, count);
  if (interrupts()) return -1;
  return REAL(read)(descriptor, data, fewer(count));
}
ssize_t recv(int descriptor, void* data, size_t count, int flags) {
  if (interrupts() || would_block()) return -1;
  return REAL(recv)(descriptor, data, fewer(count), flags);
}
ssize_t sendmsg(int descriptor, struct msghdr const* message, int flags) {
  if (interrupts()) return -1;
  struct iovec some[1024];
  struct msghdr part = *message;
  part.msg_iovlen = (size_t)cut(message->msg_iov, (int)message->msg_iovlen, some, fewer(sum(message->msg_iov, (int)message->msg_iovlen)));
  part.msg_iov = some;
  return REAL(sendmsg)(descriptor, &part, flags);
}
ssize_t sendfile64(int out, int in, off64_t* position, size_t count) {
  if (interrupts()) return -1;
  return REAL(sendfile64)(out, in, position, fewer(count));
}
ssize_t sendfile(int out, int in, off_t* position, size_t count) { return sendfile64(out, in, position, count); }
int fdatasync(int descriptor) {
  if (refuses(descriptor)) return -1;
  return REAL(fdatasync)(descriptor);
}
int fsync(int descriptor) {
  if (refuses(descriptor)) return -1;
  return REAL(fsync)(descriptor);
}
int syncfs(int descriptor) {
  if (refuses(descriptor)) return -1;
  return REAL(syncfs)(descriptor);
}
