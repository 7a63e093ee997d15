package HotPath::Page;
use strict; use warnings;
sub page { return "todo" }
1;
