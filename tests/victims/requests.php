<?php
/*
 * What PHP marks, with known counts: a script for PHP's own web server, `php -S ADDRESS FILE`.
 * Each request calls functions, methods and what throws, sleeps, and answers with its own counts.
 */
$calls = $thrown = 0;

function leaf($i)
{
	$GLOBALS['calls']++;
	return $i + 1;
}

function throws($i)
{
	$GLOBALS['calls']++;
	$GLOBALS['thrown']++;
	throw new Exception("fault $i");
}

class Counter
{
	public function add($i)
	{
		$GLOBALS['calls']++;
		return leaf($i);
	}
}

$began = hrtime(true);
$n = (int)($_GET['n'] ?? 0);
$counter = new Counter();
$closure = function ($i) {
	$GLOBALS['calls']++;
	return $i;
};
for ($i = 0; $i < $n; $i++) {
	leaf($i);
	$counter->add($i);
	$closure($i);
	try {
		throws($i);
	} catch (Exception $e) {
	}
}
usleep((int)($_GET['us'] ?? 0));
echo json_encode(['calls' => $calls, 'thrown' => $thrown, 'ns' => hrtime(true) - $began]);
