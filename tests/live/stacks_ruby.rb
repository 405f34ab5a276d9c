# Calls of many kinds, at whose end a method tells the interpreter's own view of the stack and waits: a line of JSON a
# wait, innermost first: function, file, line. A method has its class before it; one that is written in C has no line.
require 'json'

class Part
  def initialize(go = false)
    step if go
  end

  def template
    part { step }
  end

  def part
    yield
  end

  def größe
    step
  end

  def self.make
    step
  end

  class << self
    def in_class
      [1].each_with_index { |x, i| step }
    end
  end

  define_method(:defined) { |x| step }

  def method_missing(name, *rest)
    step
  end

  def respond_to_missing?(*)
    true
  end

  def <=>(other)
    step
    0
  end
  include Comparable

  def cleared
    raise 'away'
  rescue RuntimeError
    step
  ensure
    step
  end

  def optional(x = step, key: 1)
    x
  end

  alias_method :other, :template
end

module Mixed
  def mixed
    # more than a few instructions, each on a line of its own
    a = [1, 2]
    b = a.map { |x| x + 1 }
    c = b.select { |x| x > 2 }
    d = c.first.to_s + 'x'
    e = { a: a, b: b, c: c, d: d }
    f = e.keys.size
    g = f + a.size + b.size + c.size
    h = g.to_s + d
    step
    [h, g, f, e]
  end

  def self.of_module
    step
  end
end

class Mixing < Part
  include Mixed

  def template
    super
  end
end

# how the interpreter itself says whose a method is; of several that are called so, that in which the line is
NAMES = Hash.new { |names, name| names[name] = [] }
def known(owner, name, mark)
  method = mark == '#' ? owner.instance_method(name) : owner.method(name)
  whose = mark == '#' ? method.owner : owner
  NAMES[name.to_s] << ["#{whose}#{mark}#{name}", method.source_location]
end

def deep(n)
  return deep(n - 1) if n > 0

  step
end

def leaf
  out = caller_locations(0).map do |l|
    name, place = NAMES[l.base_label].select { |n, p| !p || p[0] != __FILE__ || p[1] <= l.lineno }.max_by { |n, p| p ? p[1] : 0 }
    next [l.label, l.path, l.lineno] unless name

    name = l.label.delete_suffix(l.base_label) + name
    place ? [name, l.path, l.lineno] : [name, '<cfunc>', 0]
  end
  # the wait is on a later line
  out[0][2] = __LINE__ + 2
  out.unshift(['IO.select', '<cfunc>', 0])
  puts(out.to_json); IO.select([READ], nil, nil, 0.003)
end

READ, WRITE = IO.pipe
$depth = 0
KINDS = [
  -> { deep(rand(6)) },
  -> { Part.make },
  -> { Part.in_class },
  -> { Part.new.template },
  -> { Part.new.other },
  -> { Part.new(true) },
  -> { Part.new.größe },
  -> { Part.new.defined(1) },
  -> { Part.new.missing(1) },
  -> { Part.new.cleared },
  -> { Part.new.optional },
  -> { Part.new < Part.new },
  -> { Part.new.instance_eval { step } },
  -> { Part.class_eval { step } },
  -> { Part.new.public_send(:template) },
  -> { Mixing.new.mixed },
  -> { Mixing.new.template },
  -> { Mixed.of_module },
  -> { [2, 1].sort_by { |x| step; x } },
  -> { [1].map { |x| [x].each { |y| step } } },
  -> { 1.times { step } },
  -> { { a: 1 }.each_pair { |k, v| step } },
  -> { [1].inject(0) { |sum, x| step; sum + x } },
  -> { eval('step') },
  -> { eval("\n\nstep", binding, 'text.rb', 7) },
  -> { loop { step; break } },
  -> { catch(:done) { step; throw :done } },
  -> { 1.tap { |x| step } },
  -> { Fiber.new { step }.resume },
  -> { Thread.new { Thread.current.name = 'ruby'; step }.join },
  -> { method(:deep).to_proc.call(1) },
  -> { begin; step; ensure; step; end },
]

def step
  return leaf if $depth >= 6 || rand(6) == 0

  $depth += 1
  KINDS.sample.call
  $depth -= 1
end

%i[initialize template part größe method_missing <=> cleared optional].each { |name| known(Part, name, '#') }
%i[make in_class].each { |name| known(Part, name, '.') }
known(Mixed, :mixed, '#')
known(Mixing, :template, '#')
known(Mixed, :of_module, '.')
%i[deep leaf step known].each { |name| known(Object, name, '#') }
[[Array, %i[each map inject]], [Class, %i[new]], [Enumerable, %i[sort_by each_with_index]], [Integer, %i[times]],
 [BasicObject, %i[instance_eval]], [Module, %i[class_eval]], [Comparable, %i[<]],
 [Hash, %i[each_pair]],
 [Kernel, %i[eval loop catch public_send tap]]].each do |owner, names|
  names.each { |name| known(owner, name, '#') }
end

$stdout.sync = true
# time for the recorder to read the interpreter's tables
sleep 0.5
srand(ARGV[0].to_i)
250.times { step }
