# SPDX-License-Identifier: MIT
"""What the real Harnesses find in the place of their vendors, in a network of the tests' own: servers
at the vendors' names, with certificates of a CA that is trusted there, and a model behind them that is
a short fixed conversation.

The model asks for one command to be run in the repository, takes its word from what the command
printed, asks for one file to be written with it, and then ends the turn with a text that names it.
It keeps nothing between two requests: how far a conversation is stands in the request. So a session
is through only if what its tools did really went to the model and back."""

import base64
import glob
import http.server
import json
import os
import re
import ssl
import threading
import time
import urllib.parse
import zlib

from net_world import V4, V6, World
from support import BUILD

# What the command prints: the repository's file `question` has it.
WORD = re.compile(r"marker-[0-9a-f]{16}")
COMMAND = "cat question"
PATIENCE = 60


def unsigned_token(claims):
    """A JWT that nobody signed."""
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
    return ".".join([part({"alg": "RS256", "typ": "JWT"}), part(claims), "c2lnbmF0dXJl"])


class Request:
    """What was asked of a vendor."""

    def __init__(self, host, method, path, headers, body):
        self.host, self.method, self.path = host, method, path.partition("?")[0]
        self.query = path.partition("?")[2]
        self.headers, self.body = headers, body

    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            return {}

    def form(self):
        """A token request: a form or JSON."""
        found = self.json()
        return found or dict(urllib.parse.parse_qsl(self.body.decode(errors="replace")))


class Tokens:
    """A token endpoint whose refresh tokens can be used once. make(number) is what it answers with;
    each reply of it has a refresh_token "refresh-NUMBER"."""

    def __init__(self, make):
        self.make, self.number, self.reused = make, 0, 0
        self.lock = threading.Lock()

    def __call__(self, request):
        form = request.form()
        if "refresh_token" not in form:
            return None
        with self.lock:
            if form["refresh_token"] != "refresh-%d" % self.number:
                self.reused += 1
                return Reply({"error": "invalid_grant"}, status=400)
            self.number += 1
            return Reply(dict(self.make(self.number), refresh_token="refresh-%d" % self.number))


class Reply:
    def __init__(self, body, status=200, kind="application/json"):
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.status, self.kind = status, kind


NOTHING = Reply({"error": {"message": "no such thing here", "type": "not_found"}}, status=404)


def events(items):
    """A stream of server-sent events: (name or None, data)."""
    text = ""
    for name, data in items:
        text += ("event: %s\n" % name if name else "") + \
            "data: %s\n\n" % (data if isinstance(data, str) else json.dumps(data))
    return Reply(text.encode(), kind="text/event-stream")


# --- The model ------------------------------------------------------------------------------------

SHELL_NAMES = ("exec_command", "shell_command", "run_terminal_command", "run_terminal_cmd", "bash",
               "Bash", "Shell", "shell")
WRITE_NAMES = ("Write", "write", "WriteFile", "create_file", "write_file")


def arguments_for(schema, values):
    """The arguments of a tool, by what its parameters are called."""
    names = (schema or {}).get("properties", {})
    found = {name: value for name, value in values.items() if name in names}
    for name in (schema or {}).get("required", []):
        if name not in found:
            kind = names.get(name, {}).get("type")
            found[name] = {"integer": 60000, "number": 60000, "boolean": False}.get(kind, "as asked")
    return found


# What a test has the model say behind its last word.
AFTER_DONE = [""]


def next_step(tools, results, folder):
    """tools: {name: schema}; results: the tools' answers so far, as text. What the model wants:
    ("call", name, arguments), ("text", text)."""
    word = next((found[0] for result in results for found in [WORD.search(result)] if found), None)
    shell = next((name for name in SHELL_NAMES if name in tools), None)
    if not tools or not shell:
        return "text", "A title"
    run = {"command": COMMAND, "cmd": COMMAND, "description": "reads the question"}
    if not results:
        return "call", shell, arguments_for(tools[shell], run)
    if not word:
        return "text", "The command printed no marker: " + results[0][:2000]
    if len(results) == 1:
        write = next((name for name in WRITE_NAMES if name in tools), None)
        path = os.path.join(folder, "answer")
        if write:
            return "call", write, arguments_for(tools[write], {
                "path": path, "file_path": path, "filePath": path, "target_file": path,
                "content": word, "contents": word, "file_content": word})
        command = "printf %%s %s >answer" % word
        return "call", shell, arguments_for(tools[shell], dict(run, command=command, cmd=command))
    return "text", "Done: " + word + AFTER_DONE[0]


def text_of(content):
    """Text of a message's content, a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(part.get("text", part.get("content", ""))) for part in content
                         if isinstance(part, dict))
    return json.dumps(content)


def responses(body, folder):
    """OpenAI's Responses."""
    tools = {tool["name"]: tool.get("parameters") for tool in body.get("tools", []) if "name" in tool}
    results = [text_of(item.get("output", "")) for item in body.get("input", [])
               if isinstance(item, dict) and item.get("type", "").endswith("_call_output")]
    step = next_step(tools, results, folder)
    number = len(results)
    if step[0] == "call":
        item = {"type": "function_call", "id": "fc_%d" % number, "call_id": "call_%d" % number,
                "name": step[1], "arguments": json.dumps(step[2]), "status": "completed"}
    else:
        item = {"type": "message", "id": "msg_%d" % number, "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": step[1], "annotations": []}]}
    answer = {"id": "resp_%d" % number, "object": "response", "created_at": int(time.time()),
              "status": "in_progress", "model": body.get("model"), "output": []}
    end = dict(answer, status="completed", output=[item], usage={
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 20})
    if not body.get("stream"):
        return Reply(end)
    stream = [{"type": "response.created", "response": answer},
              {"type": "response.output_item.added", "output_index": 0,
               "item": dict(item, **({"arguments": ""} if step[0] == "call" else {"content": []}))}]
    if step[0] == "call":
        stream += [{"type": "response.function_call_arguments.delta", "item_id": item["id"],
                    "output_index": 0, "delta": item["arguments"]},
                   {"type": "response.function_call_arguments.done", "item_id": item["id"],
                    "output_index": 0, "arguments": item["arguments"]}]
    else:
        part = item["content"][0]
        stream += [{"type": "response.content_part.added", "item_id": item["id"], "output_index": 0,
                    "content_index": 0, "part": dict(part, text="")},
                   {"type": "response.output_text.delta", "item_id": item["id"], "output_index": 0,
                    "content_index": 0, "delta": part["text"]},
                   {"type": "response.output_text.done", "item_id": item["id"], "output_index": 0,
                    "content_index": 0, "text": part["text"]}]
    stream += [{"type": "response.output_item.done", "output_index": 0, "item": item},
               {"type": "response.completed", "response": end}]
    return events((one["type"], dict(one, sequence_number=index))
                  for index, one in enumerate(stream))


def messages(body, folder):
    """Anthropic's Messages."""
    tools = {tool["name"]: tool.get("input_schema") for tool in body.get("tools", []) if "name" in tool}
    results = [text_of(part.get("content", "")) for message in body.get("messages", [])
               if isinstance(message.get("content"), list) for part in message["content"]
               if part.get("type") == "tool_result"]
    step = next_step(tools, results, folder)
    if step[0] == "call":
        block = {"type": "tool_use", "id": "toolu_%d" % len(results), "name": step[1], "input": step[2]}
        reason = "tool_use"
    else:
        block, reason = {"type": "text", "text": step[1]}, "end_turn"
    usage = {"input_tokens": 10, "output_tokens": 10, "cache_creation_input_tokens": 0,
             "cache_read_input_tokens": 0}
    message = {"id": "msg_%d" % len(results), "type": "message", "role": "assistant",
               "model": body.get("model"), "content": [], "stop_reason": None, "stop_sequence": None,
               "usage": usage}
    if not body.get("stream"):
        return Reply(dict(message, content=[block], stop_reason=reason))
    if step[0] == "call":
        start = dict(block, input={})
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        start, delta = dict(block, text=""), {"type": "text_delta", "text": block["text"]}
    stream = [{"type": "message_start", "message": message},
              {"type": "content_block_start", "index": 0, "content_block": start},
              {"type": "content_block_delta", "index": 0, "delta": delta},
              {"type": "content_block_stop", "index": 0},
              {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None},
               "usage": usage},
              {"type": "message_stop"}]
    return events((one["type"], one) for one in stream)


def chat_completions(body, folder):
    tools = {tool["function"]["name"]: tool["function"].get("parameters")
             for tool in body.get("tools") or [] if "function" in tool}
    results = [text_of(message.get("content", "")) for message in body.get("messages", [])
               if message.get("role") == "tool"]
    step = next_step(tools, results, folder)
    if step[0] == "call":
        message = {"role": "assistant", "content": None, "tool_calls": [{
            "index": 0, "id": "call_%d" % len(results), "type": "function",
            "function": {"name": step[1], "arguments": json.dumps(step[2])}}]}
        reason = "tool_calls"
    else:
        message, reason = {"role": "assistant", "content": step[1]}, "stop"
    answer = {"id": "chat_%d" % len(results), "created": int(time.time()), "model": body.get("model")}
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    if not body.get("stream"):
        return Reply(dict(answer, object="chat.completion", usage=usage, choices=[
            {"index": 0, "message": message, "finish_reason": reason}]))
    answer["object"] = "chat.completion.chunk"
    return events([
        (None, dict(answer, choices=[{"index": 0, "delta": message, "finish_reason": None}])),
        (None, dict(answer, choices=[{"index": 0, "delta": {}, "finish_reason": reason}])),
        (None, dict(answer, choices=[], usage=usage)), (None, "[DONE]")])


INFLATES = ("gzip", "deflate")
MODEL = {"/responses": responses, "/messages": messages, "/chat/completions": chat_completions}


# --- The vendor -----------------------------------------------------------------------------------


def names_of_vendors():
    """All hosts that a .harness file names, without what stands for many."""
    lines = []
    for path in glob.glob(os.path.join(BUILD, "harness.d/*.harness")):
        with open(path) as file:
            lines += re.findall(r"(?m)^(?:Hosts|ProviderHosts|AlsoTries)=(.*)", file.read())
    words = {word.rpartition("=")[2] for line in lines for word in line.split()}
    return sorted(word for word in words if not word.startswith("*"))


class Front:
    """Where those names lead. Each connection is the vendor's of the moment."""

    def __init__(self):
        names = names_of_vendors()
        self.vendor = None
        self.world = World(dict.fromkeys(names, [V4, V6]), [(V4, 443), (V6, 443)])
        self.ca, self.context = self.world.trust(names)
        self.context.sni_callback = lambda channel, name, _: setattr(channel, "asked_for", name)
        self.world.drop_powers()
        self.world.start()
        for listener in self.world.listeners.values():
            threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def accept(self, listener):
        while True:
            peer, _ = listener.accept()
            threading.Thread(target=self.serve, args=(peer, self.vendor), daemon=True).start()

    def serve(self, peer, vendor):
        peer.settimeout(PATIENCE)
        try:
            with self.context.wrap_socket(peer, server_side=True) as channel:
                Connection(channel, vendor, channel.asked_for)
        except (OSError, ValueError, ssl.SSLError) as error:
            if vendor:
                vendor.failed(error)
        finally:
            peer.close()


class Vendor:
    """Answers for hosts (a dictionary: name to what answers a Request there before the model does,
    or None), and of any other has nothing. requests is what was asked for."""

    def __init__(self, front, hosts, repository):
        self.front, self.hosts, self.repository = front, hosts, repository
        self.requests, self.failures, self.lock = [], [], threading.Lock()
        front.vendor = self

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.front.vendor = None

    def failed(self, error):
        with self.lock:
            self.failures.append("%s: %s" % (type(error).__name__, error))

    def answer(self, request):
        with self.lock:
            self.requests.append(request)
        if request.host not in self.hosts:
            return NOTHING
        own = self.hosts[request.host]
        reply = own(request) if own else None
        if reply is not None:
            return reply
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return Reply({"error": {"message": "by HTTP, please"}}, status=426)
        if request.headers.get("Content-Encoding") not in (None, "identity", *INFLATES):
            return Reply({"error": {"message": "not in this encoding, please"}}, status=415)
        for path, model in MODEL.items():
            if request.method == "POST" and request.path.endswith(path):
                return model(request.json(), self.repository)
        return NOTHING

    def told(self):
        """For a failure's message."""
        with self.lock:
            asked = ["%s %s%s" % (one.method, one.host, one.path) for one in self.requests]
            return "asked %s; %s" % (asked, self.failures[-3:])


class Connection(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, channel, vendor, host):
        self.vendor, self.host = vendor, host
        super().__init__(channel, ("127.0.0.1", 0), None)

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = b""
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                body += self.rfile.read(size)
                self.rfile.readline()
                if not size:
                    break
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") in INFLATES:
            body = zlib.decompress(body, 47)
        return body

    def handle_any(self):
        request = Request(self.host, self.command, self.path, dict(self.headers.items()), self.body())
        reply = self.vendor.answer(request)
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = do_OPTIONS = do_PATCH = handle_any
