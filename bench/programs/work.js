// SPDX-License-Identifier: MIT
// Enough of the language to keep the JIT, the collector and the interpreter busy.
'use strict';

let state = 1;
const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 8;

class Node {
	constructor(key) {
		this.key = key;
		this.left = this.right = null;
	}
}

function tree(n) {
	let root = null;
	for (let i = 0; i < n; i++) {
		const node = new Node(next());
		let at = root;
		if (!root) {
			root = node;
			continue;
		}
		for (;;) {
			const side = node.key < at.key ? 'left' : 'right';
			if (!at[side]) {
				at[side] = node;
				break;
			}
			at = at[side];
		}
	}
	const depth = (at) => (at ? 1 + Math.max(depth(at.left), depth(at.right)) : 0);
	return depth(root);
}

function sieve(n) {
	const composite = new Uint8Array(n);
	let count = 0;
	for (let i = 2; i < n; i++) {
		if (composite[i])
			continue;
		count++;
		for (let j = i * 2; j < n; j += i)
			composite[j] = 1;
	}
	return count;
}

function words(n) {
	const counts = new Map();
	for (let i = 0; i < n; i++) {
		const word = `w${next() % 997}`;
		counts.set(word, (counts.get(word) || 0) + 1);
	}
	return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 2);
}

function json(n) {
	const list = [];
	for (let i = 0; i < n; i++)
		list.push({ id: i, name: `item ${next() % 100}`, tags: ['a', 'b', String(i % 7)] });
	const text = JSON.stringify(list).replace(/item (\d)/g, 'thing-$1');
	return JSON.parse(text).filter((item) => /-4/.test(item.name)).length;
}

function waves(n) {
	const out = new Float64Array(n);
	for (let i = 0; i < n; i++)
		out[i] = Math.sqrt(i) * ((i & 7) - 3.5);
	return out.reduce((sum, v) => sum + v, 0).toFixed(3);
}

for (let i = 0; i < Number(process.argv[2]); i++)
	console.log(tree(20000), sieve(200000), words(50000), json(5000), waves(200000));
