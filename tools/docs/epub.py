"""An e-book: chapters of XHTML, pictures and fonts in one EPUB 3 file. `faults` reads such a file and says what is wrong with it.

    mimetype                    first, not compressed
    META-INF/container.xml      where the package is
    book/content.opf            the package: all files, and the order of the chapters
    book/nav.xhtml              the table of contents
    book/*.xhtml, *.css, images, fonts

The same chapters give the same bytes. Read next: book.py, which makes the chapters of pages of the site.
"""

import html
import posixpath
import re
import uuid
import xml.etree.ElementTree as ElementTree
import zipfile

__all__ = ["faults", "page", "write"]

KINDS = {"xhtml": "application/xhtml+xml", "css": "text/css", "png": "image/png", "svg": "image/svg+xml", "jpg": "image/jpeg",
         "woff": "font/woff"}
CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="book/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
"""
PAGE = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="en" xml:lang="en">
<head><title>{title}</title><link rel="stylesheet" type="text/css" href="book.css"/></head>
<body>
{body}
</body></html>
"""
PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{uuid}</dc:identifier>
<dc:title>{title}</dc:title><dc:language>en</dc:language><dc:creator>{author}</dc:creator><dc:date>{date}</dc:date>
<dc:rights>MIT license</dc:rights><meta property="dcterms:modified">{date}T00:00:00Z</meta>
<meta property="schema:accessMode">textual</meta><meta property="schema:accessMode">visual</meta>
<meta property="schema:accessibilityFeature">MathML</meta><meta property="schema:accessibilityFeature">tableOfContents</meta>
<meta property="schema:accessibilityHazard">none</meta>
</metadata>
<manifest>
{manifest}
</manifest>
<spine>
{spine}
</spine>
</package>
"""


def page(title, body):
    """A chapter as a file."""
    return PAGE.format(title=html.escape(title), body=body)


def write(path, chapters, files, about):
    """Write an e-book.

    Args:
        path (Path): the file.
        chapters (list): (name, title, body, sections) of each. `sections` is a list of (id, title).
        files (dict): the other files, name -> bytes.
        about (dict): title, author, date.
    """
    listed = "\n".join([f'<li><a href="{name}.xhtml">{html.escape(title)}</a>{entries(name, sections)}</li>'
                        for name, title, _, sections in chapters])
    nav = f'<nav epub:type="toc" id="toc"><h1>Contents</h1>\n<ol>\n{listed}\n</ol></nav>'
    pages = {f"{name}.xhtml": page(title, body) for name, title, body, _ in chapters}
    everything = {**{name: text.encode() for name, text in pages.items()}, "nav.xhtml": page("Contents", nav).encode(), **files}
    manifest = "\n".join([item(name, data) for name, data in everything.items()])
    first, *others = [name for name, *_ in chapters]
    order = [f"{first}.xhtml", "nav.xhtml", *[f"{name}.xhtml" for name in others]]
    spine = "\n".join([f'<itemref idref="{identifier(name)}"/>' for name in order])
    package = PACKAGE.format(manifest=manifest, spine=spine, uuid=uuid.uuid5(uuid.NAMESPACE_URL, "{title} {date}".format(**about)),
                             **{key: html.escape(value) for key, value in about.items()})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        put(book, "mimetype", b"application/epub+zip", zipfile.ZIP_STORED)
        put(book, "META-INF/container.xml", CONTAINER.encode())
        put(book, "book/content.opf", package.encode())
        for name, data in everything.items():
            put(book, f"book/{name}", data)


def entries(name, sections):
    """The sections of a chapter in the table of contents."""
    inner = "".join([f'<li><a href="{name}.xhtml#{place}">{html.escape(title)}</a></li>' for place, title in sections])
    return f"<ol>{inner}</ol>" if inner else ""


def identifier(name):
    """The id of a file in the package."""
    return "file-" + re.sub(r"[^\w-]", "-", name)


def item(name, data):
    """The line of a file in the package. A page says whether it has formulas or drawings."""
    properties = [word for word, found in (("nav", name == "nav.xhtml"), ("mathml", b"<math" in data), ("svg", b"<svg" in data))
                  if found and name.endswith(".xhtml")]
    said = f' properties="{" ".join(properties)}"' if properties else ""
    return f'<item id="{identifier(name)}" href="{name}" media-type="{KINDS[name.rpartition(".")[2]]}"{said}/>'


def put(book, name, data, how=zipfile.ZIP_DEFLATED):
    """Add a file without the time at which it was made."""
    book.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, how)


# ---- the check ----------------------------------------------------------------------------------------------

OPF = "{http://www.idpf.org/2007/opf}"


def faults(path):
    """What is wrong with an e-book: a list of sentences, empty if it is right.

    The type is first and not compressed; each file is in the package once, and there; each page is well-formed XML with unique
    ids and without scripts; each link and each picture leads to something in the book, or to a site.
    """
    found = []
    with zipfile.ZipFile(path) as book:
        first = book.infolist()[0]
        if (first.filename, first.compress_type, book.read(first)) != ("mimetype", zipfile.ZIP_STORED, b"application/epub+zip"):
            found.append("mimetype is not the first file, not compressed")
        names = book.namelist()
        found += [f"{name} is there twice" for name in {name for name in names if names.count(name) > 1}]
        package = ElementTree.fromstring(book.read("book/content.opf"))
        items = {one.get("id"): one.get("href") for one in package.iter(f"{OPF}item")}
        listed = {f"book/{name}" for name in items.values()}
        there = set(names) - {"mimetype", "META-INF/container.xml", "book/content.opf"}
        found += [f"{name} is not in the package" for name in sorted(there - listed)]
        found += [f"{name} is in the package, and not there" for name in sorted(listed - there)]
        found += [f"{one.get('idref')} in the order of chapters is no file" for one in package.iter(f"{OPF}itemref")
                  if one.get("idref") not in items]
        ids, links = {}, []
        for name in sorted(there & listed):
            if name.endswith(".xhtml"):
                try:
                    root = ElementTree.fromstring(book.read(name))
                except ElementTree.ParseError as error:
                    found.append(f"{name} is no XML: {error}")
                    continue
                here = [one for element in root.iter() if (one := element.get("id"))]
                ids[name] = set(here)
                found += [f"{name}: the id {one} is there twice" for one in sorted({one for one in here if here.count(one) > 1})]
                found += [f"{name} has a script" for element in root.iter() if element.tag.endswith("}script")]
                links += [(name, element.get(key)) for element in root.iter() for key in ("href", "src") if element.get(key)]
    for name, link in links:
        if not re.match("https?:|mailto:|data:", link):
            target, _, place = link.partition("#")
            file = posixpath.normpath(posixpath.join("book", target)) if target else name
            if file not in there or (place and file in ids and place not in ids[file]):
                found.append(f"{name}: the link {link} leads nowhere")
    return found
