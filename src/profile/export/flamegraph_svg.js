// SPDX-License-Identifier: MIT
// Zoom and search of the image's boxes, whose places without zoom are those that the file has.
"use strict";
{
const $ = id => document.getElementById(id);
const WIDTH = 1200, LETTER = 6.7, HEIGHT = 17;
const boxes = [...$("boxes").children].map(g => {
	const [title, rect, text] = g.children, said = title.textContent;
	const number = name => parseFloat(rect.getAttribute(name));
	return { g, rect, text, said, name: said.slice(0, said.lastIndexOf(" (")), x: number("x"),
		 width: number("width"), y: number("y") };
});
const root = boxes[0], top = Math.min(...boxes.map(b => b.y));
const SLACK = 0.02; // of what was rounded
let focus = root, pattern = null, fromTop = false;

function fit(name, width) {
	const room = Math.floor((width - 6) / LETTER), letters = [...name];
	if (letters.length <= room) return name;
	return room < 3 ? "" : letters.slice(0, room - 2).join("") + "..";
}

function draw() {
	for (const b of boxes) {
		const above = b.y > focus.y && b.x <= focus.x + SLACK &&
			      b.x + b.width >= focus.x + focus.width - SLACK;
		const inside = b.y <= focus.y && b.x >= focus.x - SLACK &&
			       b.x + b.width <= focus.x + focus.width + SLACK;
		const x = above ? 0 : (b.x - focus.x) / focus.width * WIDTH;
		const width = above ? WIDTH : b.width / focus.width * WIDTH;
		const y = fromTop ? top + root.y - b.y : b.y;
		b.g.style.display = above || inside ? "" : "none";
		b.g.setAttribute("class", (above ? "above" : "") +
				 (pattern && b !== root && pattern.test(b.name) ? " found" : ""));
		b.rect.setAttribute("x", x);
		b.rect.setAttribute("width", width);
		b.rect.setAttribute("y", y);
		b.text.setAttribute("x", x + 3);
		b.text.setAttribute("y", y + 12);
		b.text.textContent = fit(b.name, width);
	}
}

// What matches and stands on nothing that does; boxes that stand on one are within its sides.
function matched() {
	let sum = 0, end = -1;
	const found = boxes.filter(b => b !== root && pattern.test(b.name));
	found.sort((a, b) => a.x - b.x || b.width - a.width);
	for (const b of found) {
		if (b.x + b.width <= end + SLACK) continue;
		sum += b.width;
		end = b.x + b.width;
	}
	return (100 * sum / WIDTH).toFixed(2) + "%";
}

function search(text) {
	pattern = null;
	if (text) {
		try {
			pattern = new RegExp(text);
		} catch (e) {
			pattern = { test: name => name.includes(text) };
		}
	}
	$("matched").textContent = pattern ? "matched: " + matched() : "";
	draw();
}

function ask() {
	const text = prompt("search: a regular expression", "");
	if (text !== null) search(text);
}

for (const b of boxes) {
	b.g.addEventListener("click", () => { focus = b; draw(); });
	b.g.addEventListener("mouseover", () => { $("info").textContent = b.said; });
	b.g.addEventListener("mouseout", () => { $("info").textContent = ""; });
}
$("search").addEventListener("click", ask);
$("reset").addEventListener("click", () => { focus = root; draw(); });
$("flip").addEventListener("click", () => {
	fromTop = !fromTop;
	$("flip").textContent = fromTop ? "from the bottom" : "from the top";
	draw();
});
addEventListener("keydown", e => {
	if (e.key === "Escape") { focus = root; search(""); }
	if (e.key === "f" && e.ctrlKey) { e.preventDefault(); ask(); }
});
addEventListener("flamegraph-search", e => search(e.detail)); // for programs
$("buttons").setAttribute("visibility", "visible");
}
