"""Asks a running service about one lead, a batch and a stream of leads over
gRPC, and shows what a client does about errors, waits and deadlines.

usage: client.py EMAIL…      environment: ENRICHD_GRPC, ENRICHD_KEY
"""

import os
import sys
import time

import grpc

from enrich.v1 import enrich_pb2, enrich_pb2_grpc
from google.rpc import error_details_pb2, status_pb2

DEADLINE = 30.0  # seconds of every call, waits included


def question(lead):
    return enrich_pb2.EnrichRequest(email=lead)


def retry_delay(error):
    """Returns in how many seconds the service says to ask again, or None."""
    if error.code() not in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE):
        return None
    for name, value in error.trailing_metadata() or ():
        if name == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                retry = error_details_pb2.RetryInfo()
                if detail.Unpack(retry):
                    return max(retry.retry_delay.ToTimedelta().total_seconds(), 0.1)
    return None


def patiently(call, request, metadata):
    """Asks again while the service says when, and the deadline leaves time."""
    ends = time.monotonic() + DEADLINE
    while True:
        try:
            return call(request, timeout=max(0, ends - time.monotonic()), metadata=metadata)
        except grpc.RpcError as error:
            wait = retry_delay(error)
            if wait is None or time.monotonic() + wait >= ends:
                raise
            time.sleep(wait)


def show(how, answer, error=None):
    if error is not None:
        print(f"{how}: error {error.code}: {error.message}")
        return
    outcome = enrich_pb2.Outcome.Name(answer.outcome)
    print(f"{how}: {outcome} {answer.person.full_name}, {answer.person.title}, {answer.company.name}")


def show_result(how, result):
    show(how, result.response, result.error if result.HasField("error") else None)


def main(leads):
    key = os.environ.get("ENRICHD_KEY")
    metadata = [("authorization", f"Bearer {key}")] if key else []
    # A service with TLS takes grpc.secure_channel and grpc.ssl_channel_credentials().
    with grpc.insecure_channel(os.environ.get("ENRICHD_GRPC", "127.0.0.1:8471")) as channel:
        service = enrich_pb2_grpc.EnrichServiceStub(channel)

        show("one", patiently(service.Enrich, question(leads[0]), metadata))

        # Each question of a batch has an answer or an error of its own, in order.
        batch = enrich_pb2.BatchEnrichRequest(requests=map(question, leads))
        for result in patiently(service.BatchEnrich, batch, metadata).results:
            show_result("batch", result)

        # Questions are sent while answers come, in the order in which they are
        # ready; the service takes them as fast as it can answer.
        questions = (
            enrich_pb2.StreamEnrichRequest(correlation_id=str(number), request=question(lead))
            for number, lead in enumerate(leads)
        )
        for result in service.StreamEnrich(questions, timeout=DEADLINE, metadata=metadata):
            show_result(f"stream {result.correlation_id}", result)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("name the leads' e-mail addresses")
    try:
        main(sys.argv[1:])
    except grpc.RpcError as failed:
        sys.exit(f"{failed.code().name}: {failed.details()}")
