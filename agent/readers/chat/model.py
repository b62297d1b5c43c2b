"""A model behind an endpoint: asks, waits, retries, remembers replies, counts what they cost."""

import contextlib
import contextvars
import hashlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from agent.config import Endpoint, View
from agent.deadline import seconds_left
from agent.models import BusyModelError, Completion, ModelError, OutOfTimeError, Request
from agent.readers.chat import costs
from agent.readers.chat.patience import gate, retry_after, wait_before, within
from agent.readers.chat.providers import (
    MODES,
    Reply,
    find_key,
    key_name,
    make_client,
    messages,
    options,
    png,
    read_message,
    schema_in_words,
    where,
)
from agent.replies import OURS
from agent.tracing import untraced
from agent.types import Usage
from indexes.cache import digest, entry, read_json, write_json
from indexes.errors import InputError
from indexes.plain import plain

OVERHEAD = 24  # tokens that a chat template puts around a request, at most
KIND = "replies"  # of cache entries
MAX_CAUSES = 32  # errors of a chain that are looked at: some libraries make a ring of them


class ChatModel:
    """A model that an endpoint serves.

    Attributes:
        name: as the endpoint calls it.
        sees: whether it is sent pictures.
        context: tokens that a request and its reply may have together.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint | None = None,
        view: View | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        view = view or View()
        self.name, self.sees, self.context = name, view.images, view.context
        self.endpoint = endpoint or Endpoint()
        self._sleep = sleep
        self._modes = [
            mode for mode in MODES[self.endpoint.provider] if self.endpoint.structured in ("auto", mode)
        ] or ["json"]
        self._lock = threading.Lock()
        self._client: Any = None
        self._answered = False
        find_key(self.endpoint)  # a missing key is said before the document is read

    def picture_tokens(self, width: int, height: int) -> int:
        """An upper estimate by the rules of `costs`."""
        return costs.picture_tokens(self.name, width, height)

    def picture_size(self, width: int, height: int, most: int) -> tuple[int, int]:
        """The largest size that costs at most `most` tokens by the same rules."""
        return costs.picture_size(self.name, width, height, most)

    def text_tokens(self, text: str) -> int:
        """An upper estimate: the tokenizer is at the endpoint."""
        return costs.text_tokens(text)

    def request_tokens(self, request: Request) -> int:
        """Tokens of a whole request at most, the schema and the chat template with it."""
        total = OVERHEAD + self.text_tokens(request.system)
        for part in request.content:
            total += (
                self.text_tokens(part) if isinstance(part, str) else self.picture_tokens(*part.image.size)
            )
        return total + (self.text_tokens(schema_in_words(request.schema)) if request.schema else 0)

    def complete(self, request: Request) -> Completion:
        """Answers a request, from the cache where it was answered before.

        Raises:
            ModelError: there is no reply; retries are over, or the endpoint refuses the request.
            OutOfTimeError: there is no reply, and before another try the run's time would be over.
            InputError: the endpoint cannot be reached at all, refuses the key, or has no such model.
        """
        file = entry(KIND, self._key(request))
        kept = read_json(file) if self.endpoint.cache else None
        if kept is not None:
            usage = Usage(kept["prompt_tokens"], kept["completion_tokens"], 1, 0.0)
            return Completion(kept["text"], kept["stop"], usage, cached=True)
        reply = self._in_some_mode(request)
        read, written = reply.prompt_tokens, reply.completion_tokens
        if read is None:
            read = self.request_tokens(request)
        if written is None:
            written = self.text_tokens(reply.text)
        price = read * self.endpoint.price_in + written * self.endpoint.price_out
        completion = Completion(reply.text, reply.stop, Usage(read, written, 1, price / 1e6))
        if self.endpoint.cache and reply.text.strip():
            counts = {"prompt_tokens": read, "completion_tokens": written}
            write_json(file, {"text": reply.text, "stop": reply.stop, **counts})
        return completion

    def forget(self, request: Request) -> None:
        """Takes the reply to a request out of the cache: asked again, the endpoint is asked."""
        if self.endpoint.cache:
            with contextlib.suppress(OSError):
                entry(KIND, self._key(request)).unlink()

    def complete_all(self, requests: Sequence[Request]) -> list[Completion | ModelError]:
        """Answers requests, as many at a time as the endpoint's config lets."""
        with ThreadPoolExecutor(min(len(requests), self.endpoint.concurrency) or 1) as pool:
            contexts = [contextvars.copy_context() for _ in requests]
            return list(
                pool.map(lambda context, request: context.run(self._or_error, request), contexts, requests)
            )

    def _or_error(self, request: Request) -> Completion | ModelError:
        try:
            return self.complete(request)
        except ModelError as error:
            return error

    def _key(self, request: Request) -> str:
        """Names a call by all that decides its reply; nothing of it can be read back."""
        endpoint = self.endpoint
        content = [
            part if isinstance(part, str) else hashlib.sha256(png(part)).hexdigest()
            for part in request.content
        ]
        return digest(
            endpoint.provider,
            where(endpoint),
            self.name,
            json.dumps([endpoint.structured, endpoint.temperature, endpoint.seed, request.max_tokens]),
            json.dumps(request.schema, sort_keys=True),
            request.system,
            *content,
        )

    def _in_some_mode(self, request: Request) -> Reply:
        """Asks by schema; where the endpoint refuses that as a bad request, by tool call, then in words."""
        if request.schema is None:
            return self._with_patience(request, "json")
        modes = list(self._modes)
        for i, mode in enumerate(modes):
            try:
                reply = self._with_patience(request, mode)
            except _RefusedError as error:
                if i + 1 == len(modes) or error.overflow:
                    raise ModelError(str(error)) from error
                continue
            if i:
                with self._lock:
                    self._modes = modes[i:]
            return reply
        raise ModelError("no way to ask")  # modes is never empty

    def _with_patience(self, request: Request, mode: str) -> Reply:
        attempt = 0
        while True:
            attempt += 1
            try:
                reply = self._once(request, mode)
            except (*OURS, InputError):
                raise
            except Exception as error:
                fault = _Fault.of(error)
                self._refuse(fault, attempt, error, plain_request=request.schema is None)
                wait = wait_before(attempt, fault.asked)
                if wait >= seconds_left():
                    text = f"{self._vain(attempt)}, and no time for another: {self._said(error)}"
                    raise OutOfTimeError(text) from error
                self._sleep(wait)
                continue
            self._answered = True
            return reply

    def _once(self, request: Request, mode: str) -> Reply:
        endpoint = self.endpoint
        with self._lock:
            if self._client is None:
                self._client = make_client(self.name, endpoint)
        client, given = self._client, options(request, endpoint, mode)
        asked = messages(request, mode)
        with gate(where(endpoint), endpoint.concurrency, endpoint.requests_per_minute).passing(), untraced():
            return read_message(within(endpoint.timeout, lambda: client.invoke(asked, **given)))

    def _refuse(self, fault: "_Fault", attempt: int, error: Exception, *, plain_request: bool) -> None:
        """Raises where another try makes no sense."""
        place, said = where(self.endpoint), self._said(error)
        if fault.status in (401, 403):
            name = key_name(self.endpoint)
            raise InputError(
                f"{place}: {fault.status}: the key in ${name} is not accepted: {said}"
            ) from error
        if fault.status == 404:
            raise InputError(f"{place}: 404: nothing there for the model {self.name!r}: {said}") from error
        if fault.status is not None and 300 <= fault.status < 400:
            raise InputError(
                f"{place}: {fault.status}: requests are passed on to another address; set base_url to the "
                "address that answers itself"
            ) from error
        if fault.no_money:
            raise InputError(f"{place}: {fault.status}: the account has no quota left: {said}") from error
        if (
            fault.status is not None
            and 400 <= fault.status < 500
            and fault.status not in (408, 409, 425, 429)
        ):
            text = f"{place}: the request is refused ({fault.status}): {said}"
            raise ModelError(text) if plain_request else _RefusedError(text, overflow=fault.overflow)
        if fault.unreachable and not self._answered and attempt > min(1, self.endpoint.retries):
            raise InputError(f"{place}: cannot be reached: {said}; is the server running?") from error
        if attempt > self.endpoint.retries:
            text = f"{self._vain(attempt)}: {said}"
            # A timeout may be the fault of what was asked: less may come in time.
            raise (BusyModelError(text) if fault.status is not None else ModelError(text)) from error

    def _vain(self, tries: int) -> str:
        return f"{where(self.endpoint)}: no reply after {tries} tr{'ies' if tries > 1 else 'y'}"

    def _said(self, error: Exception) -> str:
        text = f"{type(error).__name__}: {error}"
        key = find_key(self.endpoint)
        return plain(text.replace(key, "***") if key else text, 200).rstrip(".")


class _RefusedError(Exception):
    """A bad request, perhaps only for the way in which JSON was asked for."""

    def __init__(self, message: str, *, overflow: bool) -> None:
        super().__init__(message)
        self.overflow = overflow


@dataclass(frozen=True, slots=True)
class _Fault:
    """What an error of a client library comes down to, the same for all providers."""

    status: int | None
    asked: float | None
    unreachable: bool
    overflow: bool
    no_money: bool

    @classmethod
    def of(cls, error: Exception) -> "_Fault":
        status, asked, unreachable = None, None, False
        chain: BaseException | None = error
        names = set()
        for _ in range(MAX_CAUSES):
            if chain is None:
                break
            names.add(type(chain).__name__)
            code = getattr(chain, "status_code", getattr(chain, "code", None))
            if status is None and isinstance(code, int) and not isinstance(code, bool):
                status = int(code)
            headers = getattr(getattr(chain, "response", None), "headers", None)
            if asked is None and headers is not None:
                asked = retry_after(headers.get("retry-after"))
            unreachable = unreachable or isinstance(chain, ConnectionRefusedError)
            chain = chain.__cause__ or chain.__context__
        text = str(error).lower()
        return cls(
            status=status,
            asked=asked,
            unreachable=status is None and (unreachable or "ConnectError" in names),
            overflow="ContextOverflowError" in {c.__name__ for c in type(error).__mro__}
            or ("context" in text and ("length" in text or "exceed" in text)),
            no_money="insufficient_quota" in text,
        )
