"""The stock clients of a run: processes that write history files and say how far they are."""
import os
import signal
import subprocess
import threading
from pathlib import Path

from cluster import PROGRAMS

HERE = Path(__file__).resolve().parent
JAVA_OPTIONS = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
KINDS = ("librdkafka", "java", "franz-go")


def java_command():
    folder = PROGRAMS / "java"
    return ["java", *JAVA_OPTIONS, "-cp", f"{folder / 'classes'}:{(folder / 'classpath').read_text()}", "Chaos"]


# How each kind is started; the verbs and arguments are those of clients/librdkafka.cpp.
COMMANDS = {"librdkafka": lambda: [PROGRAMS / "chaos-librdkafka"], "franz-go": lambda: [PROGRAMS / "chaos-franz-go"], "java": java_command}


def is_newer(made, folder):
    """Than all sources in the folder."""
    return made.exists() and all(made.stat().st_mtime > source.stat().st_mtime for source in folder.rglob("*") if source.is_file())


def prepare(kinds):
    """Builds the clients that the build of the tree does not make; they come from their languages' registries."""
    folder = PROGRAMS / "java"
    if "java" in kinds and not is_newer(folder / "classpath", HERE / "clients/java"):
        (folder / "classpath").unlink(missing_ok=True)
        subprocess.run(["mvn", "-q", "-f", HERE / "clients/java/pom.xml", f"-Dchaos.folder={folder}", "compile",
                        "dependency:build-classpath", f"-Dmdep.outputFile={folder / 'classpath'}"], stdout=subprocess.DEVNULL, check=True)
    if "franz-go" in kinds:
        subprocess.run(["go", "build", "-p", "2", "-o", PROGRAMS / "chaos-franz-go", "."], cwd=HERE / "clients/franz-go",
                       env={**os.environ, "GOFLAGS": "-mod=readonly"}, check=True)


class Client:
    def __init__(self, run, kind, verb, *extra):
        self.number = run.next_client()
        self.kind, self.verb = kind, verb
        self.history = run.folder / f"{self.number:02}-{kind}-{verb}"
        self.records, self.end = 0, ""
        self.log_path = Path(f"{self.history}.log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([*COMMANDS[kind](), verb, run.cluster.bootstrap, run.topic, str(run.partitions), str(self.number),
                                             str(self.history), *map(str, extra)], stdout=subprocess.PIPE, stderr=log, text=True,
                                            start_new_session=True)
        self.reader = threading.Thread(target=self.read_progress, daemon=True)
        self.reader.start()

    @property
    def name(self):
        return f"{self.kind} {self.verb} (client {self.number})"

    def read_progress(self):
        for line in self.process.stdout:
            words = line.split()
            if len(words) == 2 and words[0] == "records":
                self.records = int(words[1])

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)

    def tell_to_end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds):
        """The exit code; None: it did not end in time and was killed."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None
        self.reader.join(5)
        return code

    def kill(self):
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def log_tail(self, lines=5):
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])
