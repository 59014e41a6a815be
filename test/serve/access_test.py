#!/usr/bin/env python3
"""Nobody gets in who should not: tokens, roles, prefixes, peers of a unix socket, certificates, addresses beyond loopback."""

import hashlib
import http.client
import os
import pathlib
import signal
import socket
import ssl
import subprocess

import lib
from lib import Fleet, Service, ask, equal, main, test, until, work

fleet = Fleet()
TOKENS = {"reader": "r" * 40, "billing": "b" * 40, "admin": "a" * 40}
access = work / "access"
access.write_text("# who may do what\n" + "".join(
    f"token {hashlib.sha256(token.encode()).hexdigest()} {name} {role}{prefix}\n" for (name, token), role, prefix in
    zip(TOKENS.items(), ("read", "lock", "admin"), ("", " billing:", ""))) + "cert client.example lock certified:\n",
    encoding="utf-8")
access.chmod(0o600)
guarded = Service(fleet, config=f"serve_access = {access}\n", resp=True)


def bearer(name):
    return {"Authorization": f"Bearer {TOKENS.get(name, name)}"}


def refuses_to_start(*options, word, config=""):
    service = Service(fleet, *options, config=config, listen=None, wait=False)
    equal(service.process.wait(lib.PATIENCE_S), 78, service.words)
    service.reader.join()
    assert service.said(word), service.words


@test
def without_a_token_nothing_is_done():
    for method, path in (("POST", "/v1/locks/billing:1"), ("GET", "/v1/locks/billing:1"), ("GET", "/v1/nodes"),
                         ("GET", "/v1/events"), ("POST", "/v1/sessions"), ("DELETE", "/v1/locks/billing:1"),
                         ("GET", "/v1/locks/billing:1/hold?max_hold_ms=1000")):
        for fields in ({}, bearer("wrong"), {"Authorization": "Basic YTpi"}, {"Authorization": "Bearer "}):
            status, headers, problem = guarded.ask(method, path, **fields)
            equal((status, problem["type"]), (401, "/v1/problems/unauthorized"), (method, path, fields))
            assert headers["WWW-Authenticate"].startswith("Bearer"), headers
    equal(guarded.ask("GET", "/livez")[0], 200)
    equal(guarded.ask("GET", "/readyz")[0], 200)
    equal(fleet.copies("billing:1"), 0)


@test
def a_role_allows_what_it_says():
    equal(guarded.ask("GET", "/v1/nodes", **bearer("reader"))[0], 200)
    equal(guarded.ask("POST", "/v1/locks/billing:1", {}, **bearer("reader"))[0], 403)
    equal(guarded.ask("POST", "/v1/sessions", {}, **bearer("reader"))[0], 403)
    status, _, lease = guarded.ask("POST", "/v1/locks/billing:1", {"why": "nightly"}, **bearer("billing"))
    equal(status, 201, lease)
    equal(guarded.ask("GET", "/v1/locks/billing:1", **bearer("reader"))[2]["holder"]["why"], "billing: nightly")
    equal(guarded.ask("DELETE", "/v1/locks/billing:1", Redlock_Token=lease["token"], **bearer("billing"))[0], 204)


@test
def a_prefix_is_the_end_of_a_tokens_world():
    for name in ("shipping:1", "billing", "Billing:1", "%62illin"):
        for method in ("POST", "GET", "PATCH", "DELETE"):
            status, _, problem = guarded.ask(method, f"/v1/locks/{name}", Redlock_Token="YWE", **bearer("billing"))
            equal((status, problem["type"]), (403, "/v1/problems/forbidden"), (method, name))
    equal(guarded.ask("GET", "/v1/locks/shipping:1/hold?max_hold_ms=9", **bearer("billing"))[0], 403)
    equal(guarded.ask("POST", "/v1/sessions/" + "0" * 32 + "/keepalive",
                      {"locks": [{"name": "shipping:1", "token": "YWE"}]}, **bearer("billing"))[0], 403)
    status, _, lease = guarded.ask("POST", "/v1/locks/shipping:1", {}, **bearer("admin"))
    equal(status, 201)
    equal(guarded.ask("DELETE", "/v1/locks/shipping:1", Redlock_Token=lease["token"], **bearer("admin"))[0], 204)


@test
def a_session_belongs_to_the_principal_that_opened_it():
    session = guarded.ask("POST", "/v1/sessions", {}, **bearer("billing"))[2]["id"]
    equal(guarded.ask("POST", f"/v1/sessions/{session}/keepalive", {}, **bearer("admin"))[0], 404)
    equal(guarded.ask("POST", f"/v1/sessions/{session}/keepalive", {"locks": []}, **bearer("admin"))[0], 404)
    equal(guarded.ask("DELETE", f"/v1/sessions/{session}", **bearer("admin"))[0], 404)
    equal(guarded.ask("DELETE", f"/v1/sessions/{session}", **bearer("billing"))[0], 200)


@test
def events_are_told_to_those_who_may_hear_of_them():
    stream = lib.Stream(guarded, "/v1/events", **bearer("billing"))
    for name in ("shipping:2", "billing:2"):
        lease = guarded.ask("POST", f"/v1/locks/{name}", {}, **bearer("admin"))[2]
        guarded.ask("DELETE", f"/v1/locks/{name}", Redlock_Token=lease["token"], **bearer("admin"))
    equal([stream.next()["data"]["name"] for _ in range(2)], ["billing:2", "billing:2"])
    stream.close()


def resp(port, *commands):
    """What is answered to each command, as far as one line tells."""
    with socket.create_connection(("127.0.0.1", port), timeout=lib.PATIENCE_S) as connection:
        file = connection.makefile("rb")
        answers = []
        for words in commands:
            connection.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words))
            answers.append(file.readline().decode().strip())
        return answers


@test
def the_resp_port_wants_a_token_too():
    take = ("SET", "billing:3", "v", "NX", "PX", "1000")
    answers = resp(guarded.resp_port, take, ("AUTH", "wrong"), take, ("AUTH", TOKENS["reader"]), take,
                   ("AUTH", "default", TOKENS["billing"]), ("SET", "shipping:3", "v", "NX", "PX", "1000"), take)
    equal([answer.split()[0] for answer in answers],
          ["-NOAUTH", "-WRONGPASS", "-NOAUTH", "+OK", "-NOPERM", "+OK", "-NOPERM", "+OK"], answers)
    equal(fleet.copies("shipping:3"), 0)


@test
def a_unix_socket_knows_its_peers():
    path = work / "s.sock"
    service = Service(fleet, "--unix", path, listen=None)
    until(lambda: service.said("listening"), "a socket")
    equal(oct(path.stat().st_mode & 0o777), oct(0o600))

    def over_unix(user=None):
        child = subprocess.run(
            ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", path.name, "http://localhost/v1/nodes"],
            capture_output=True, text=True, check=False, user=user, cwd=work)  # folders above may be closed to others
        return child.stdout

    equal(over_unix(), "200")
    if os.geteuid() == 0:
        path.chmod(0o666)
        work.chmod(0o755)
        equal(over_unix(user=65534), "401")
    again = Service(fleet, "--unix", path, listen=None, wait=False)
    equal(again.process.wait(lib.PATIENCE_S), 78)
    service.kill(signal.SIGKILL)
    service.process.wait()
    third = Service(fleet, "--unix", path, listen=None)  # what a killed one left behind is not in the way
    until(lambda: third.said("listening"), "a socket again")
    equal(over_unix(), "200")
    equal(third.stop(), 0)
    assert not path.exists()


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def make_certificates():
    """An authority, the service's certificate and two clients'."""
    folder = work / "tls"
    folder.mkdir()
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=ca",
            "-keyout", folder / "ca.key", "-out", folder / "ca.crt")
    for name in ("localhost", "client.example", "stranger.example"):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.csr")
        extensions = folder / "ext"
        extensions.write_text(f"subjectAltName=DNS:{name}\n", encoding="utf-8")
        openssl("x509", "-req", "-in", folder / f"{name}.csr", "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key",
                "-CAcreateserial", "-days", "2", "-extfile", extensions, "-out", folder / f"{name}.crt")
    return folder


@test
def a_client_certificate_is_a_credential():
    folder = make_certificates()
    service = Service(fleet, config=f"serve_access = {access}\nserve_tls_cert = {folder}/localhost.crt\n"
                      f"serve_tls_key = {folder}/localhost.key\nserve_tls_client_ca = {folder}/ca.crt\n")

    def over_tls(method, path, certificate=None, **fields):
        context = ssl.create_default_context(cafile=folder / "ca.crt")
        if certificate:
            context.load_cert_chain(folder / f"{certificate}.crt", folder / f"{certificate}.key")
        connection = http.client.HTTPSConnection("localhost", service.port, context=context, timeout=lib.PATIENCE_S)
        try:
            return ask(connection, method, path, **fields)
        finally:
            connection.close()

    equal(over_tls("POST", "/v1/locks/certified:1")[0], 401)
    equal(over_tls("POST", "/v1/locks/certified:1", "stranger.example")[0], 401)
    status, _, lease = over_tls("POST", "/v1/locks/certified:1", "client.example")
    equal(status, 201, lease)
    equal(over_tls("POST", "/v1/locks/other", "client.example")[0], 403)
    equal(over_tls("DELETE", "/v1/locks/certified:1", "client.example", Redlock_Token=lease["token"])[0], 204)
    equal(over_tls("GET", "/v1/nodes", Authorization="Bearer " + TOKENS["reader"])[0], 200)
    with service.raw() as plain:
        plain.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try:
            assert not plain.recv(100).startswith(b"HTTP")
        except ConnectionResetError:
            pass
    equal(service.stop(), 0)


@test
def what_other_machines_can_reach_wants_credentials():
    refuses_to_start("--listen", "0.0.0.0:0", word="other machines")
    refuses_to_start("--listen", "127.0.0.1:0", "--resp", "0.0.0.0:0", word="other machines")
    refuses_to_start("--listen", "nonsense", word="ADDR:PORT")
    refuses_to_start(config="serve_listen = 127.0.0.1:0\nserve_access = /nonexistent\n", word="/nonexistent")
    for line, word in (("token abc x lock", "SHA-256"), ("token", "token SHA256"), ("user root king", "role"),
                       ("nobody x", "begins with"), ("# only a comment", "nobody in")):
        (work / "bad").write_text(line + "\n", encoding="utf-8")
        refuses_to_start(config=f"serve_listen = 127.0.0.1:0\nserve_access = {work}/bad\n", word=word)
    open_to_all = Service(fleet, config=f"serve_access = {access}\n", listen="0.0.0.0:0")
    equal(open_to_all.ask("GET", "/v1/nodes", **bearer("reader"))[0], 200)
    equal(open_to_all.stop(), 0)


@test
def systemd_may_open_the_sockets_and_is_told():
    listener = socket.create_server(("127.0.0.1", 0))
    notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notices.bind(str(work / "notify"))
    notices.settimeout(lib.PATIENCE_S)
    service = subprocess.Popen(
        ["bash", "-c", f'exec 3<&{listener.fileno()}; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$0" serve -q', lib.REDLOCK],
        env={**fleet.environment(), "NOTIFY_SOCKET": str(work / "notify")}, pass_fds=[listener.fileno()])
    lib.started.append(service)
    equal(notices.recv(100), b"READY=1")
    connection = http.client.HTTPConnection("127.0.0.1", listener.getsockname()[1], timeout=lib.PATIENCE_S)
    equal(ask(connection, "GET", "/livez")[0], 200)
    service.send_signal(signal.SIGTERM)
    equal(notices.recv(100), b"STOPPING=1")
    equal(service.wait(lib.PATIENCE_S), 0)


main()
