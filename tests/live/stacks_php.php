<?php
/* Calls of many kinds, at whose end a function tells the interpreter's own view of the stack and sleeps: a line of
   JSON a sleep, innermost first: function, file, line. */
function is_of_c($entry) {
    if (isset($entry['class']))
        return method_exists($entry['class'], $entry['function']) && (new ReflectionMethod($entry['class'], $entry['function']))->isInternal();
    return function_exists($entry['function']) && (new ReflectionFunction($entry['function']))->isInternal();
}

function leaf() {
    $out = [];
    $file = __FILE__;
    $line = __LINE__ + 11;
    foreach (debug_backtrace() as $entry) {
        $name = $entry['function'];
        if (in_array($name, ['include', 'require', 'eval'], true))
            $name = '{main}';
        if (!is_of_c($entry))
            $out[] = [(isset($entry['class']) ? $entry['class'] . '::' : '') . $name, $file, $line];
        [$file, $line] = [$entry['file'] ?? '', $entry['line'] ?? 0];
    }
    $out[] = ['{main}', $file, $line];
    echo json_encode($out), "\n";
    usleep(3000);
}

function deep($n) {
    if ($n > 0)
        return deep($n - 1);
    step();
}

abstract class Base {
    function template($x) {
        return $this->part($x);
    }
    abstract protected function part($x);
    static function make() {
        return new static;
    }
}

class Part extends Base {
    protected function part($x) {
        step();
        return $x;
    }
    function __get($name) {
        step();
        return 1;
    }
    function __call($name, $arguments) {
        step();
    }
    function __destruct() {
        if (mt_rand(0, 3) == 0)
            step();
    }
    function __toString() {
        step();
        return 'part';
    }
}

function numbers($n) {
    for ($i = 0; $i < $n; $i++) {
        step();
        yield $i;
    }
}

function step() {
    static $depth = 0;
    if ($depth >= 12 || mt_rand(0, 5) == 0) {
        leaf();
        return;
    }
    $depth++;
    switch (mt_rand(0, 10)) {
    case 0:
        deep(mt_rand(0, 5));
        break;
    case 1:
        Part::make()->template(1);
        break;
    case 2:
        $a = [2, 1];
        usort($a, function ($x, $y) {
            step();
            return $x <=> $y;
        });
        break;
    case 3:
        array_map(fn($x) => step(), [1]);
        break;
    case 4:
        foreach (numbers(2) as $x)
            break;
        break;
    case 5:
        eval('step();');
        break;
    case 6:
        (new Part)->nothing;
        break;
    case 7:
        (new Part)->missing(1);
        break;
    case 8:
        strlen(new Part);
        break;
    case 9:
        call_user_func('deep', 1);
        break;
    case 10:
        try {
            throw new Exception;
        } catch (Exception $e) {
            step();
        } finally {
            step();
        }
        break;
    }
    $depth--;
}

/* time for the recorder to read the interpreter's tables */
for ($round = 0; $round < 500; $round++)
    usleep(1000);
mt_srand((int)$argv[1]);
for ($round = 0; $round < 60; $round++)
    step();
