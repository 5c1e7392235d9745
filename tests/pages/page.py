"""Reads a report as strictly as a browser is lenient: a tree, or an error that says where."""
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "input", "link", "img"}
DRAWN_VOID = {"path", "rect", "circle"}  # of SVG, written with a slash


class NotStrict(Exception):
    pass


class Element:
    def __init__(self, tag, attributes, parent):
        self.tag, self.attributes, self.parent, self.children = tag, attributes, parent, []

    def text(self):
        return "".join(c if isinstance(c, str) else c.text() for c in self.children)

    def walk(self):
        yield self
        for child in self.children:
            if not isinstance(child, str):
                yield from child.walk()

    def find(self, tag=None, **attributes):
        """All elements below, and this one, of that tag with these attributes (class_ for class, data_x for data-x)."""
        wanted = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
        return [e for e in self.walk() if (tag is None or e.tag == tag) and
                all(e.attributes.get(key) == value for key, value in wanted.items())]

    def one(self, tag=None, **attributes):
        found = self.find(tag, **attributes)
        if len(found) != 1:
            raise NotStrict(f"{len(found)} of {tag} {attributes}")
        return found[0]


class Strict(HTMLParser):
    """Every element is closed by its own tag, attributes come once, no stray '<' or '&' stands in text."""

    def __init__(self):
        super().__init__(convert_charrefs=False)
        self.root = Element("#root", {}, None)
        self.at = self.root

    def fail(self, what):
        raise NotStrict(f"line {self.getpos()[0]}: {what}")

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        if len(set(names)) != len(names):
            self.fail(f"<{tag}> has an attribute twice: {names}")
        for name in names:
            if not all(c.isalnum() or c == "-" for c in name):
                self.fail(f"<{tag}> has the attribute {name!r}")
        element = Element(tag, dict(attributes), self.at)
        self.at.children.append(element)
        if tag not in VOID:
            self.at = element

    def handle_startendtag(self, tag, attributes):
        if tag not in DRAWN_VOID:
            self.fail(f"<{tag}/> is no element without an end")
        self.handle_starttag(tag, attributes)
        self.at = self.at.parent

    def handle_endtag(self, tag):
        if self.at.tag != tag:
            self.fail(f"</{tag}> inside <{self.at.tag}>")
        self.at = self.at.parent

    def handle_data(self, text):
        if self.at.tag not in ("script", "style") and ("<" in text or "&" in text):
            self.fail(f"unescaped: {text[:80]!r}")
        self.at.children.append(text)

    def handle_charref(self, name):
        self.at.children.append(chr(int(name[1:], 16) if name[0] in "xX" else int(name)))

    def handle_entityref(self, name):
        self.at.children.append({"amp": "&", "lt": "<", "gt": ">", "quot": '"'}[name])

    def handle_comment(self, text):
        self.fail(f"a comment: {text[:80]!r}")

    def unknown_decl(self, text):
        self.fail(f"<![{text[:80]!r}")

    def handle_pi(self, text):
        self.fail(f"<?{text[:80]!r}")


def read(html):
    """The tree of a page (bytes)."""
    parser = Strict()
    parser.feed(html.decode("utf-8"))
    parser.close()
    if parser.at is not parser.root:
        raise NotStrict(f"<{parser.at.tag}> is never closed")
    return parser.root
