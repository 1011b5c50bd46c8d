#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The page of `anyperf export` in a browser, as HTML and as SVG: searched, zoomed into, turned and reset, by a script
# that is added to a copy of it.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need perf gcc python3
command -v chromium >/dev/null || lack_all "no chromium"
cd "$tmp" || exit 1

cat >work.c <<'END'
static volatile unsigned long s;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) s += i * i; }
__attribute__((noinline)) void less(int n) __asm__("\"less<a&&b>\"");
void less(int n) { for (int i = 0; i < n; i++) s += i * i; }
__attribute__((noinline)) void mid(int n) { leaf(n); s++; }
int main(void) { for (int i = 0; i < 100; i++) { mid(100000); leaf(100000); less(50000); } return 0; }
END
gcc -O0 -o work work.c || exit 1
perf record -q -e cpu-clock:u -c 100000 -g -o data -- ./work >/dev/null 2>why ||
	perf_refused why
run "$ANYPERF" export -i data -o page.html
is "$status" 0 "export"
run "$ANYPERF" export -i data -o page.svg
is "$status" 0 "export of an image"
check "which is XML" python3 -c 'import xml.dom.minidom as x; x.parse("page.svg")'

cat >drive.js <<'END'
const said = [], boxes = () => [...document.querySelectorAll("#graph div")];
const named = name => boxes().filter(b => b.textContent === name);
const search = text => {
	document.getElementById("search").value = text;
	document.getElementById("search").dispatchEvent(new Event("input"));
};
said.push("leaves " + named("leaf").length);
said.push("signs " + named("less<a&&b>").length);
search("^leaf$");
said.push("found " + document.querySelectorAll("#graph .found").length);
said.push("most " + (parseFloat(document.getElementById("matched").textContent.slice(9)) > 65));
search("(*"); // no expression: taken as it stands
said.push("bad " + document.querySelectorAll("#graph .found").length);
search("");
named("mid")[0].click();
said.push("zoom " + named("leaf").length + " " + named("mid")[0].style.width);
document.getElementById("flip").click();
document.getElementById("reset").click();
said.push("reset " + named("leaf").length);
search("main");
document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
said.push("escape " + document.querySelectorAll("#graph .found").length);
document.title = said.join(", ");
END
cat >drive_svg.js <<'END'
const said = [], all = () => [...document.querySelectorAll("#boxes g")].filter(g => g.style.display !== "none");
const named = name => all().filter(g => g.querySelector("title").textContent.startsWith(name + " ("));
const search = text => dispatchEvent(new CustomEvent("flamegraph-search", { detail: text }));
const click = element => element.dispatchEvent(new MouseEvent("click", { bubbles: true }));
const $ = id => document.getElementById(id);
said.push("leaves " + named("leaf").length);
said.push("signs " + named("less<a&&b>").length);
search("^leaf$");
said.push("found " + document.querySelectorAll("#boxes .found").length);
said.push("most " + (parseFloat($("matched").textContent.slice(9)) > 65));
search("(*"); // no expression: taken as it stands
said.push("bad " + document.querySelectorAll("#boxes .found").length);
search("");
click(named("mid")[0]);
said.push("zoom " + named("leaf").length + " " + named("mid")[0].querySelector("rect").getAttribute("width"));
click($("flip"));
click($("reset"));
said.push("reset " + named("leaf").length);
search("main");
dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
said.push("escape " + document.querySelectorAll("#boxes .found").length);
document.querySelector("svg > title").textContent = said.join(", ");
END
python3 - <<'END'
script = "<script>" + "//<![CDATA[\n{" + open("drive.js").read() + "}\n//]]></script>"
open("driven.html", "w").write(open("page.html").read().replace("</body>", script + "</body>"))
script = "<script>" + "//<![CDATA[\n{" + open("drive_svg.js").read() + "}\n//]]></script>"
open("driven.svg", "w").write(open("page.svg").read().replace("</svg>", script + "</svg>"))
END
for kind in html svg; do
	width=100%
	[ "$kind" = svg ] && width=1200
	timeout -k 5 120 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$tmp/browser" \
		--virtual-time-budget=2000 --dump-dom "file://$tmp/driven.$kind" >dom 2>why
	is "$(sed -n 's/.*<title>\(leaves.*\)<\/title>.*/\1/p' dom)" \
		"leaves 2, signs 1, found 2, most true, bad 0, zoom 1 $width, reset 2, escape 0" \
		"$kind: search, zoom, turn, reset, Escape" || note "$(head -n 5 why)"
done
done_testing
