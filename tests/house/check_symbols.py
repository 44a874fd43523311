#!/usr/bin/env python3
"""Proves that clocks, files, sockets, threads and random devices are linked only into env_os, admin, server and cli.

    check_symbols.py ROOMS_FILE LIBRARY_DIR     looks at the undefined symbols of every libmr_<room>.a
    check_symbols.py --self-test COMPILER       shows that it can fail

Locks are allowed everywhere; `fprintf` and `abort` belong to the assertion handler of base.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

OS_ROOMS = {"env_os", "admin", "server", "cli"}
C_NAMES = """
clock_gettime clock_nanosleep clock gettimeofday time localtime localtime_r gmtime gmtime_r nanosleep usleep sleep ftime
rand rand_r srand random srandom drand48 getrandom getentropy arc4random
open openat creat close read readv pread preadv preadv2 write writev pwrite pwritev pwritev2 lseek sendfile splice
fsync fdatasync syncfs sync sync_file_range ftruncate truncate fallocate posix_fallocate posix_fadvise fopen fdopen
freopen fread fwrite fclose fgets tmpfile mkstemp mkdtemp mkdir rmdir rename renameat renameat2 unlink unlinkat link
symlink readlink realpath stat fstat lstat fstatat statx statfs fstatfs statvfs access opendir readdir scandir nftw flock
fcntl ioctl mmap munmap msync madvise dup dup2 pipe pipe2 eventfd memfd_create inotify_init
socket socketpair connect accept accept4 bind listen send sendto sendmsg sendmmsg recv recvfrom recvmsg recvmmsg shutdown
setsockopt getsockopt getsockname getpeername getaddrinfo getnameinfo gethostbyname gethostname getifaddrs
epoll_create1 epoll_create epoll_ctl epoll_wait poll ppoll select pselect io_uring_setup
pthread_create pthread_join pthread_detach pthread_setname_np thrd_create sched_yield sched_setaffinity fork vfork execve
execvp system popen posix_spawn posix_spawnp kill raise sigaction signal pthread_sigmask
getenv secure_getenv setenv putenv getpid gettid getppid sysconf getrlimit setrlimit getrusage uname syscall exit _exit
quick_exit dlopen printf puts putchar perror
""".split()
ONLY_BASE = {"fprintf", "fputs", "fputc", "abort", "stderr", "fflush"}
# 64-bit and fortified spellings of the same calls: open64, __open_2, __read_chk, __isoc99_...
C_FORMS = re.compile(r"^(?:__)?(?P<name>[a-z_0-9]+?)(?:64)?(?:_2|_chk|_time64)?$")
CXX = re.compile(
    r"std::random_device::|std::chrono::_V2::(?:steady|system|high_resolution)_clock::now|std::thread::"
    r"|std::jthread|std::this_thread::|std::condition_variable|std::__(?:future|async)|std::filesystem::"
    r"|std::basic_(?:i|o|)f(?:stream|ilebuf)|std::basic_filebuf|std::c(?:out|err|log|in)\b|std::chrono::.*tzdb"
    r"|fmt::v\d+::(?:v?print|detail::print)"
)


def is_forbidden(symbol, demangled, room):
    symbol = symbol.split("@")[0]
    if symbol in C_NAMES:
        return True
    if symbol in ONLY_BASE:
        return room != "base"
    if CXX.search(demangled):
        return True
    match = C_FORMS.match(symbol)
    return bool(match) and match.group("name") in C_NAMES


def undefined(archive, demangle):
    command = ["nm", "-u", "-A", *(["-C"] if demangle else []), str(archive)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    found = []
    for line in lines:
        match = re.match(r"^.*?\.a:([^:]+):\s+[Uvw] (.*)$", line)
        if match:
            found.append(match.groups())
    return found


def check_archive(archive, room):
    plain, nice = undefined(archive, False), undefined(archive, True)
    assert len(plain) == len(nice)
    return [f"{room}/{member}: {name}" for (member, symbol), (_, name) in zip(plain, nice)
            if is_forbidden(symbol, name, room)]


def self_test(compiler):
    cases = [  # body, is it refused
        ("#include <mutex>\nstd::mutex m; void f() { std::lock_guard<std::mutex> g(m); }", False),
        ("#include <string>\n#include <vector>\nstd::string f(std::vector<int> v) { return std::to_string(v.at(1)); }",
         False),
        ("#include <ctime>\nlong f() { return time(nullptr); }", True),
        ("#include <ctime>\nlong f() { timespec t; return clock_gettime(CLOCK_MONOTONIC, &t); }", True),
        ("#include <chrono>\nauto f() { return std::chrono::steady_clock::now(); }", True),
        ("#include <chrono>\nauto f() { return std::chrono::system_clock::now(); }", True),
        ("#include <random>\nunsigned f() { std::random_device d; return d(); }", True),
        ("#include <cstdlib>\nint f() { return rand(); }", True),
        ("#include <cstdlib>\nchar* f() { return getenv(\"HOME\"); }", True),
        ("#define _FILE_OFFSET_BITS 64\n#include <fcntl.h>\nint f() { return open(\"x\", O_RDONLY); }", True),
        ("#define _FILE_OFFSET_BITS 64\n#include <unistd.h>\nlong f(char* b) { return pread(0, b, 1, 0); }", True),
        ("#include <sys/uio.h>\nlong f(iovec* v) { return pwritev(0, v, 1, 0); }", True),
        ("#include <sys/socket.h>\nint f() { return socket(AF_INET, SOCK_STREAM, 0); }", True),
        ("#include <thread>\nvoid f() { std::thread t([] {}); t.join(); }", True),
        ("#include <fstream>\nvoid f() { std::ofstream o(\"x\"); }", True),
        ("#include <cstdio>\nvoid f() { fopen(\"x\", \"r\"); }", True),
        ("#include <cstdio>\nvoid f() { fprintf(stderr, \"x%d\", 1); }", True),
        ("#include <filesystem>\nbool f() { return std::filesystem::exists(\"x\"); }", True),
    ]
    for body, refused in cases:
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "a.cpp").write_text(body + "\n")
            subprocess.run([compiler, "-std=c++20", "-O1", "-w", "-c", "a.cpp", "-o", "a.o"], cwd=folder, check=True)
            subprocess.run(["ar", "rcs", "libmr_x.a", "a.o"], cwd=folder, check=True)
            problems = check_archive(folder / "libmr_x.a", "x")
        if bool(problems) != refused:
            raise SystemExit(f"self-test: expected refused={refused}, got {problems} for\n{body}")
    print(f"{len(cases)} passed, 0 failed")


def main():
    if sys.argv[1] == "--self-test":
        return self_test(sys.argv[2])
    rooms = [line.split(":")[0] for line in Path(sys.argv[1]).read_text().splitlines() if ":" in line]
    problems, count = [], 0
    for room in rooms:
        archive = Path(sys.argv[2]) / f"libmr_{room}.a"
        if room not in OS_ROOMS and archive.exists():
            count += 1
            problems += check_archive(archive, room)
    if count == 0:
        raise SystemExit("no library of a room was found")
    for problem in problems:
        print(problem)
    print(f"{count} libraries, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
