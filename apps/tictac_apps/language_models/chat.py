"""A language model at an address: chat completions in the form that most servers of models share.

Only the standard library is used, and nothing is sent to any other address.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from tictac_env.checks import number, positive
from tictac_env.games import shown
from tictac_env.storage import read_json

PATH = "/chat/completions"
KEY_VARIABLE = "TICTAC_CHAT_API_KEY"
"""The environment variable with the key for a server that is named by its address alone."""
MAX_BYTES = 1 << 20
SEEDS = (1 << 31) - 1
"""Servers take seeds of 31 bits."""


class ChatError(ConnectionError):
    """Raised if a server of a language model cannot be reached, or does not answer as it should; the message names it.

    Example:
        >>> from tictac_apps.language_models import ChatEndpoint, ChatError
        >>> try:
        ...     ChatEndpoint("http://localhost:1/v1", timeout=1)("Your move?")
        ... except ChatError as error:
        ...     print("localhost:1" in str(error))
        True
    """


class ChatEndpoint:
    """A function from a prompt to the answer of a server, for `TextPolicy`.

    The server has to answer `POST URL/chat/completions` with the JSON of OpenAI's API reference ("Create chat
    completion"): `choices[0].message.content`. vLLM, llama.cpp's server, Ollama and others do.

    Args:
        url: the address up to the version, such as "http://localhost:8000/v1", or with the path; http or https.
        model: the model's name; servers with a single model may accept any.
        system: a system message before the prompt, "" for none.
        temperature: 0 or more; 0 for the likeliest answer.
        max_tokens: the largest number of tokens in an answer.
        timeout: seconds to wait for an answer.
        api_key: sent as `Authorization: Bearer`; never shown in a message. None sends no such header.

    Raises:
        ValueError: an argument is out of its range.

    Example:
        >>> from tictac_apps.language_models import ChatEndpoint
        >>> endpoint = ChatEndpoint("http://localhost:8000/v1", model="any", max_tokens=64)
        >>> endpoint.url
        'http://localhost:8000/v1/chat/completions'
    """

    def __init__(
        self,
        url: str,
        model: str = "default",
        system: str = "",
        temperature: float = 0.0,
        max_tokens: int = 1024,
        timeout: float = 120.0,
        api_key: str | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"the address of a language model must begin with http:// or https://, not {shown(url)}")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError(f"the address {parts.hostname!r} must have no user, no query and no fragment")
        self.url = url.rstrip("/").removesuffix(PATH) + PATH
        self.model = model
        self.system = system
        self.temperature = number("temperature", temperature, 0, 100)
        self.max_tokens = positive("max_tokens", max_tokens)
        self.timeout = number("timeout", timeout, 0, 86_400)
        self._key = api_key
        self._opener = urllib.request.build_opener(_NoRedirects())

    @classmethod
    def from_address(cls, address: str) -> ChatEndpoint:
        """The model of "URL" or "URL#MODEL"; a key is taken from the variable `TICTAC_CHAT_API_KEY`, if it is set.

        Raises:
            ValueError: it is not such an address.
        """
        url, _, model = address.partition("#")
        return cls(url, model or "default", api_key=os.environ.get(KEY_VARIABLE))

    def __call__(self, prompt: str, seed: int | None = None) -> str:
        """Asks the model.

        Args:
            prompt: the text.
            seed: the server gets its lowest 31 bits; None sends none.

        Raises:
            ChatError: the server cannot be reached, refuses, takes too long, or answers something else.
        """
        messages = [{"role": "system", "content": self.system}] if self.system else []
        messages.append({"role": "user", "content": prompt})
        body: dict[str, object] = {"model": self.model, "messages": messages}
        body |= {"temperature": self.temperature, "max_tokens": self.max_tokens}
        if seed is not None:
            body["seed"] = seed & SEEDS
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers, method="POST")
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                raw = response.read(MAX_BYTES + 1)
        except urllib.error.HTTPError as error:
            with error:
                message = error.read(500).decode("utf-8", "replace").strip()
            raise ChatError(f"{self.url} answered {error.code} {error.reason}: {message}") from None
        except (OSError, ValueError) as error:  # not reached, or timed out
            raise ChatError(f"{self.url} did not answer: {error}") from error
        if len(raw) > MAX_BYTES:
            raise ChatError(f"{self.url} answered more than {MAX_BYTES:,} bytes")
        try:
            content = read_json(raw)["choices"][0]["message"]["content"]
        except (ValueError, KeyError, IndexError, TypeError):
            begin = raw[:200].decode("utf-8", "replace")
            raise ChatError(f"{self.url} did not answer with a chat completion, but with {begin!r}") from None
        return content if isinstance(content, str) else ""  # null, of models that only call tools or think

    @property
    def __name__(self) -> str:
        """Its name in tables."""
        return self.model if self.model != "default" else urlsplit(self.url).netloc

    def __repr__(self) -> str:
        return f"ChatEndpoint({self.url!r}, {self.model!r})"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Makes a redirection an error: the key is for this server alone."""

    def redirect_request(self, *arguments: object) -> None:
        return None
