"""Clients: a single request, or a load that records the outcome of each request."""

import http.client
import threading
import time
from collections import Counter

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
HEADERS = {"User-Agent": BROWSER, "Host": "site.example"}
TIMEOUT = 60
NEVER = float("inf")


def connection(port):
    return http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)


def fetch(port, path="/small", using=None):
    """Returns status, body and duration in seconds of one request."""
    client = using or connection(port)
    start = time.monotonic()
    try:
        client.request("GET", path, headers=HEADERS)
        answer = client.getresponse()
        return answer.status, answer.read(), time.monotonic() - start
    finally:
        if using is None:
            client.close()


class Load:
    """Clients that send requests without a pause until they are stopped."""

    def __init__(self, port, clients=16, path="/slow/5", is_kept=True, length=None):
        self.port, self.path, self.is_kept = port, path, is_kept
        # Expected bytes of each response; if given, nothing is posted.
        self.length = length
        self.results = []
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(clients)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def _ask(self, number):
        client, asked = connection(self.port), 0
        while not self.stopped.is_set():
            begun = sent = None
            try:
                client.connect() if client.sock is None else None
                posts = self.length is None and (number + asked) % 4 == 0
                method, body = ("POST", b"data") if posts else ("GET", None)
                # Between the two this thread may have waited for others.
                begun = time.monotonic()
                client.request(method, self.path, body=body, headers=HEADERS)
                sent = time.monotonic()
                answer = client.getresponse()
                received = len(answer.read())
                outcome = str(answer.status)
                if answer.status == 200 and self.length not in (None, received):
                    outcome = f"200 with {received} bytes"
            except ConnectionRefusedError:
                time.sleep(0.01)
                client.close()
                continue
            except (OSError, http.client.HTTPException) as error:
                outcome = type(error).__name__
                client.close()
            self.results.append((begun, sent, time.monotonic(), outcome))
            asked += 1
            if not self.is_kept:
                client.close()
        client.close()

    def wait_for(self, count):
        """Waits until a number of further requests have ended."""
        count += len(self.results)
        deadline = time.monotonic() + TIMEOUT
        while len(self.results) < count:
            assert time.monotonic() < deadline, f"no more responses: {self.outcomes()}"
            time.sleep(0.005)

    def outcomes(self, begun_after=0.0, sent_before=NEVER, ended_before=NEVER):
        """Counts outcomes of the requests begun, completely sent, or answered in a period."""
        return Counter(
            outcome
            for begun, sent, ended, outcome in list(self.results)
            if begun is not None
            and begun > begun_after
            and (sent or NEVER) <= sent_before
            and ended <= ended_before
        )
