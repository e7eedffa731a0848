"""People and robots that send requests through the balancer; each response is checked."""

import http.client
import threading
import time

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
HEAVEN = "/robot-heaven/"
# Requests per second of a client, and clients of each kind; half of them keep their connection.
PACE, CLIENTS = 20, 4


class Load:
    """Clients on a machine; they stop when left."""

    def __init__(self, machine, target):
        self.machine, self.target = machine, target
        self.stopped = threading.Event()
        # Each with its end time, its duration in seconds, and its fault.
        self.results = []
        asked = [(BROWSER, "/small", person_is_right), (GOOGLEBOT, "/private/a", robot_is_right)]
        self.threads = [
            threading.Thread(target=self._run, args=(*what, number % 2 == 0))
            for what in asked
            for number in range(CLIENTS)
        ]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def _run(self, user_agent, path, is_right, is_kept):
        with self.machine.inside():
            client = None
            while not self.stopped.wait(1 / PACE):
                begun = time.monotonic()
                try:
                    client = client or http.client.HTTPConnection(self.target, timeout=60)
                    client.request("GET", path, headers={"User-Agent": user_agent, "Host": "site.example"})
                    answer = client.getresponse()
                    body = answer.read()
                    wrong = None if is_right(answer, body) else f"{answer.status} {body[:40]!r}"
                except (OSError, http.client.HTTPException) as error:
                    wrong = type(error).__name__
                ended = time.monotonic()
                self.results.append((ended, ended - begun, wrong))
                if client and (wrong or not is_kept):
                    client.close()
                    client = None
            if client:
                client.close()

    def wait_for(self, seconds):
        """Continues for some seconds."""
        self.stopped.wait(seconds)

    def wrong(self):
        return [wrong for _, _, wrong in self.results if wrong]

    def slowest(self):
        return max(took for _, took, _ in self.results)

    def percentile_99(self):
        took = sorted(took for _, took, _ in self.results)
        return took[len(took) * 99 // 100]


def person_is_right(answer, body):
    return answer.status == 200 and body == b"ok"


def robot_is_right(answer, _):
    return answer.status == 302 and (answer.getheader("Location") or "").endswith(HEAVEN)


def ask(machine, target, address, user_agent, path):
    """Sends one request from an address of a machine; returns the status, or nothing."""
    with machine.inside():
        client = http.client.HTTPConnection(target, timeout=20, source_address=(address, 0))
        try:
            client.request("GET", path, headers={"User-Agent": user_agent, "Host": "site.example"})
            answer = client.getresponse()
            answer.read()
            return answer.status
        except (OSError, http.client.HTTPException):
            return None
        finally:
            client.close()
