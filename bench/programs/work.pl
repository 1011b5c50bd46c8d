#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# Regular expressions, hashes, sorting and formats over the text on stdin.
use strict;
use warnings;

my (%count, %pair, $last, $numbers, $lines);
$last = "";
while (my $line = <STDIN>) {
	$lines++;
	$line =~ s/\s+$//;
	for my $word (split /[^a-z0-9]+/, lc $line) {
		next if $word eq "";
		$count{$word}++;
		$pair{"$last $word"}++ if length($word) > 5;
		$last = $word;
		$numbers += $1 if $word =~ /^(\d+)$/;
	}
	$line =~ s/([aeiou])([^aeiou])/$2$1/g;
	$numbers += () = $line =~ /(?:th|er|on|an)\b/g;
}
my @top = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
printf "%-20s %8d\n", $_, $count{$_} for @top[0 .. 19];
my @pairs = sort { $pair{$b} <=> $pair{$a} || $a cmp $b } keys %pair;
printf "%-30s %8d\n", $_, $pair{$_} for @pairs[0 .. 9];
print "$lines $numbers ", scalar(@top), "\n";
