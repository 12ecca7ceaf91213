"""Only plain web and mail addresses may be opened, and only as they are written."""

import pytest

from app.render.links import MAX_URL_CHARS, openable_url

ALLOWED = [
    "https://example.com",
    "http://example.com/a/b?c=d&e=f#g",
    "HTTPS://Example.com/",
    "https://example.com:8443/x",
    "https://[2001:db8::1]/x",
    "http://127.0.0.1:8080/",
    "https://xn--fsq.example/",
    "https://example.com/%E4%BD%A0",
    "mailto:someone@example.com",
    "mailto:someone@example.com?subject=Hi",
]
REFUSED = [
    "",
    "example.com",
    "/etc/passwd",
    "//example.com/x",
    "./run.js",
    "../x",
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "file://host/share",
    "smb://host/share",
    "\\\\host\\share",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "java\tscript:alert(1)",
    " javascript:alert(1)",
    "data:text/html,<script>1</script>",
    "vbscript:x",
    "ftp://example.com",
    "ssh://example.com",
    "tel:123",
    "ms-settings:",
    "search-ms:query=x",
    "vscode://x",
    "steam://run/1",
    "about:blank",
    "view-source:https://example.com",
    "blob:https://example.com/x",
    "https:example.com",
    "https:/example.com",
    "https:///example.com",
    "https://",
    "https:// example.com",
    "https://example.com/a b",
    "https://example.com/\n",
    "https://example.com/\x00",
    "https://example.com/%00",
    "https://example.com/%0d%0aSet-Cookie",
    "https://example.com/%0A",
    "https://example.com\\@evil.example",
    "https://example.com/%5C",
    "https://user@evil.example",
    "https://user:password@evil.example",
    "https://example.com@evil.example/",
    "https://ex\u0430mple.com",
    "https://例子.example",
    "https://example.com/\u202egnp",
    "https://example.com/你",
    "https://exa mple.com",
    "https://-x.example",
    "https://x.example:port/",
    "https://x.example:99999/",
    "https://[::1",
    "https://<b>.example",
    "https://example.com/<b>x</b>",
    "mailto:",
    "mailto:nobody",
    "mailto:a@b",
    "mailto:a@b.example,c@d.example\n",
    "http://" + "a" * MAX_URL_CHARS,
]


@pytest.mark.parametrize("url", ALLOWED)
def test_plain_addresses_may_be_opened(url):
    assert openable_url(url) == url


@pytest.mark.parametrize("url", REFUSED)
def test_everything_else_stays_text(url):
    assert openable_url(url) is None
