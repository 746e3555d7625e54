"""Secrets in commands, environments and texts."""

from __future__ import annotations

import pytest

from scalecurve.measurement.masking import is_secret_name, masked, masked_text, masked_words, scrubbed, secrets_in
from scalecurve.measurement.settings import make_settings

SECRET = "hunter22"


@pytest.mark.parametrize(
    "name",
    [
        "token",
        "HF_TOKEN",
        "--api-key",
        "DB_PASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "clientSecret",
        "ssh_private_key",
        "auth",
        "PGPASSWORD",
        "MYSQL_PWD",
        "SSHPASS",
        "X-Amz-Signature",
        "AZURE_STORAGE_KEY",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["--max-tokens", "tokenizer", "author", "pin", "key", "PWD", "OLDPWD", "monkey", "cells", "pass"]
)
def test_names_that_only_look_alike(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--password", SECRET),
        ("run", f"--api-key={SECRET}"),
        ("env", f"DB_PASSWORD={SECRET}", "run"),
        ("curl", "-H", f"Authorization: Bearer {SECRET}"),
        ("git", "clone", f"https://me:{SECRET}@host/x"),
        ("sh", "-c", f"run --token {SECRET} && export SECRET='{SECRET}'"),
        ("run", '{"token": "' + SECRET + '"}'),
        ("run", f"--password='two words {SECRET}'"),
        ("curl", f"https://host/x?access_token={SECRET}&b=1"),
        ("curl", f"https://account.blob.example/c?sv=1&sig={SECRET}&se=2"),
        ("curl", "-u", f"bob:{SECRET}", "http://h/"),
        ("env", "A=1", "curl", f"-ubob:{SECRET}"),
        ("curl", "-sSu", f"bob:{SECRET}"),
        ("curl", "--proxy-user", f"bob:{SECRET}"),
        ("curl", "-H", f"Cookie: a=1; sid={SECRET}"),
        ("curl", "-H", f"Authorization: Digest username=a, response={SECRET}"),
        ("curl", f"https://{SECRET}@host/x"),
        ("/usr/bin/sshpass", "-p", SECRET, "ssh", "host"),
        ("sh", "-c", f"sshpass -p '{SECRET}' ssh host"),
        ("sh", "-c", f"cd x && mysql -uroot -p{SECRET} db"),
        ("sh", "-c", f'run --password "two {SECRET}"'),
        ("sh", "-c", f"PGPASSWORD={SECRET} pgbench -c 4"),
        ("run", f"DB_PASS={SECRET}"),
        ("run", "--pass", SECRET),
        ("run", "--pwd", SECRET),
        ("redis-benchmark", "-a", SECRET),
        ("sqlcmd", "-U", "sa", "-P", SECRET),
        ("docker", "login", "-u", "bob", "-p", SECRET),
        ("openssl", "rsa", "-passin", f"pass:{SECRET}"),
        ("oha", "-a", f"bob:{SECRET}", "http://h/"),
        ("smbclient", "-U", f"bob%{SECRET}", "//h/x"),
        ("run", f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----"),
    ],
)
def test_no_secret_of_a_command_is_recorded(words: tuple[str, ...]) -> None:
    assert SECRET not in " ".join(masked_words(words))


def test_a_key_is_known_by_its_shape() -> None:
    assert masked_text("use ghp_0123456789abcdefABCD now") == "use *** now"
    assert masked_text("AKIAABCDEFGHIJKLMNOP") == "***"


def test_plain_commands_stay_as_they_are() -> None:
    words = ("mpirun", "-n", "4", "--pin=compact", "lmp", "-in", "in.lj", "-var", "x=1", "--max-tokens", "4096")
    assert masked_words(words) == words
    for line in (
        "mkdir -p results", "ssh -p 2222 host", "docker run -p 8080:80 --user 1000:1000 image", "srun -p gpu x",
        "python -u train.py", "mysql -P 3306 -p database", "pgbench -p 5432", "ffmpeg -pass 2", "run PWD=/home/bob",
        "curl http://host:8080/a", "sshpass -f file ssh -p 22 host",
    ):  # fmt: skip
        assert masked_words(line.split()) == tuple(line.split())
        assert masked_text(line) == line


def test_the_job_of_a_study_holds_no_secret_and_its_errors_neither() -> None:
    settings = make_settings(
        {
            "regime": "strong",
            "workers": "1,2",
            "command": ["run", "{workers}", "--token", SECRET],
            "env": {"HF_TOKEN": "hf-abcdef", "MODE": "fast"},
        }
    )

    assert SECRET not in str(settings.job())
    assert settings.job()["env"] == {"HF_TOKEN": "***", "MODE": "fast"}
    assert sorted(settings.secrets()) == ["hf-abcdef", SECRET]
    assert scrubbed(f"401 for {SECRET}", settings.secrets()) == "401 for ***"


def test_every_secret_of_a_text_is_known_where_it_stands_again() -> None:
    told = ["sh", "-c", "A_TOKEN=first99 B_TOKEN='second99' curl -u bob:third99 h"]
    assert sorted(secrets_in(told, masked(told))) == ["first99", "second99", "third99"]


def test_masked_data_keeps_its_shape() -> None:
    data = {"a": ["x", "--secret", "abc"], "b": [1, {"password": "pw"}], "c": None, "d": 2.5}
    clean = masked(data)

    assert clean == {"a": ["x", "--secret", "***"], "b": [1, {"password": "***"}], "c": None, "d": 2.5}
    assert list(secrets_in(data, clean)) == ["abc", "pw"]


def test_a_secret_is_masked_wherever_it_stands_again() -> None:
    words = ["sh", "-c", "login hunter2secret; exit 3", "--password", "hunter2secret"]
    assert masked_words(words) == ("sh", "-c", "login ***; exit 3", "--password", "***")
    told = {"env": {"DB_PASSWORD": "hunter2secret"}, "command": ["run", "hunter2secret", "4"]}
    assert masked(told) == {"env": {"DB_PASSWORD": "***"}, "command": ["run", "***", "4"]}
