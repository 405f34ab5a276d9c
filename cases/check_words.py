"""The words of an answer: kinds of waits and objects, verdicts, times, and the sentences as a
grammar (see check_answer.py)."""
import re

from check_links import LINKS

MS = 1000000
WAITS = {
    'waiting on a futex': 'futex', 'waiting to read': 'read', 'waiting to write': 'write', 'waiting in poll': 'poll',
    'waiting in epoll_wait': 'epoll', 'sleeping': 'sleep', 'waiting for a child': 'child',
    "waiting for the interpreter's lock (GIL)": 'gil',
    'waiting for its vfork child to exec': 'vfork', 'waiting in a page fault': 'fault', 'waiting for block I/O': 'block_io',
    'waiting for a lock in the kernel': 'kernel_lock', 'waiting for a file lock': 'file_lock',
    'waiting for connections': 'accept', 'connecting': 'connect', 'waiting for a signal': 'signal',
    'waiting on a message queue': 'queue', 'waiting on a semaphore': 'semaphore',
    'waiting for a user-space file system': 'fuse', 'waiting for a supervisor (seccomp) to answer its system call': 'supervised',
    'waiting until a listener (fanotify) lets it use a file': 'supervised', 'waiting for a page that a program is to put there (userfaultfd)': 'supervised', 'waiting for io_uring': 'uring', 'idle': 'worker', 'ended': 'exit',
    'waiting in splice': 'splice', 'waiting for data to reach the disk': 'sync', 'throttled': 'throttled',
    'yielding': 'yield', 'waiting in ioctl': 'ioctl', 'waiting to open a file': 'open',
    "waiting for a FIFO's other end to be opened": 'open', 'waiting to open a file until a lease on it is given up': 'open', 'stopped': 'stop', 'frozen': 'stop', 'waiting': 'none other',
}
OBJECTS = {'FIFO': 'fifo', 'Unix socket': 'unix_stream', 'Unix datagram socket': 'unix_dgram', 'Unix seqpacket socket': 'unix_seqpacket',
           'TCP socket': 'tcp', 'UDP socket': 'udp', 'netlink socket': 'netlink', 'epoll set': 'epoll', 'inotify group': 'inotify',
           'terminal': 'tty', 'message queue': 'queue', 'semaphore set': 'semaphore', 'io_uring': 'uring', 'FUSE connection': 'fuse'}
VERDICTS = {
    'was busy computing': 'busy', 'was stopped': 'waiting', 'was frozen': 'waiting', 'had work to do, on processors that it shared with too many others': 'busy', 'was waiting': 'waiting',
    'looked again and again for something that did not come': 'yield', 'could have run but was given no processor': 'starved',
    'was waiting for input or output': 'io', 'did nothing wrong': 'none',
}
SOURCES = {'its own time limit': 'timeout', 'a timer': 'timer', 'a packet from outside': 'network', 'a device': 'device',
           'block device I/O': 'block_io', "the kernel's housekeeping": 'rcu', 'a kernel worker': 'work', 'an interrupt': ''}
NO_HANG = ('No hang found:', 'This process did not hang', 'This thread did not hang', 'Nothing hung at that time')

ONE = r'.{1,90}? \((?:pid \d+|thread \d+ of process \d+(?:, .{1,64}?)?)\)'
PACKET = re.compile(rf'a packet of (?P<sender>{ONE}) on its way, lost and sent again or held back')
TIME = r'(?:\d+\.\d{3} s|\d+\.\d ms|\d+ us)'
LINK = '|'.join(re.escape(words) for words in sorted(LINKS, key=len, reverse=True))
GRAMMAR = [(name, re.compile(text)) for name, text in (
    ('verdict', rf'(?P<who>{ONE}) was stuck for (?:(?P<whole>{TIME}) \((?:since (?P<since>[\d:]+); )?the (?P<end>last|first) )?(?P<time>{TIME})'
                rf'(?(whole) of it (?P<how>are recorded|were looked at)\)): it (?P<words>{"|".join(map(re.escape, VERDICTS))})\.'),
    ('perhaps', rf' It may have been so (?:since [\d:]+, )?for (?P<time>{TIME})\.'),
    ('path', rf' (?P<who>It|{ONE}) was (?P<words>.+?); (?P<next>{ONE}) (?P<link>{LINK})(?: \(event (?P<event>\d+)\))?\.(?= |$)'),
    ('nobody', rf' Nothing in the trace tells who should have ended this: it was (?P<words>.+?)\.(?= [A-Z]| {ONE} went on only|$)'),
    ('quota', rf' The culprit is the processor quota: (?:the )?control group(?: (?P<path>\S+))?, throttled: its processor quota of '
              rf'(?P<quota>{TIME}) in each (?P<period>{TIME}) is used up\.(?: Most of the quota went to (?P<who>{ONE})\.)?'),
    ('quota_unknown', rf" The culprit is the processor quota: (?:the control group's processor quota, used up: )?throttled\."
                      rf'(?: Most of the quota went to (?P<who>{ONE})\.)?'),
    ('far', rf' The time went to (?P<address>\S+) \((?P<protocol>TCP|UDP)\), (?:which did not accept the connection(?:, for {TIME})?|where the connection was accepted and nobody has it open any more: no word of that came|which did not take what it was sent'
            rf'|from where nothing came): (?P<who>{ONE}) was waiting for it, and no process in the trace has that end of the connection\.'),
    ('kept_out', rf' The time went to the way to (?P<address>\S+) \(TCP\), over which nothing came while it was connecting(?:, for {TIME})?: (?P<who>{ONE}) was waiting '
                 r'for it, and no process in the trace has that end of the connection\.'),
    ('lost_between', rf' The time went to the way to (?P<address>\S+) \(TCP\), over which neither an answer nor the closing of the other end came: '
                     rf'(?P<who>{ONE}) was waiting for it, and no process in the trace has that end of the connection\.'),
    ('source', rf' The time went to (?P<source>.+?), on which (?P<who>{ONE}) was waiting\.'),
    ('itself', rf' It waits for itself: no other thread could have ended the wait of (?P<circle>{ONE})'
               rf'(?:\. Only a timeout of (?P<time>{TIME}) broke it)?\.'),
    ('circle', rf' They wait for each other in a circle: (?P<circle>{ONE}(?: -> {ONE})+)(?:\. Only a timeout of (?P<time>{TIME}) broke it)?\.'),
    ('culprit', rf' The culprit is (?P<who>{ONE})(?: in (?P<function>.+?))?(?: at (?P<file>\S+):(?P<line>\d+))?(?:, below it (?P<inner>.+?))?'
                rf'(?:, which had the processor for (?P<had>{TIME}) of the (?P<queued>{TIME}) in which (?P<needs>{ONE}|it) could have run'
                rf'|, (?P<words>[^;]+?) for (?P<time>{TIME})(?: and (?P<words2>[^;]+?) for (?P<time2>{TIME}))? of that time)?'
                rf'(?:, (?P<share>\d+) % of its processor time there)?; it is (?P<place>the victim itself|in the same process|in another process)\.'
                rf'(?P<person> It waits for its user\.)?'
                rf'(?: This is a guess \(confidence (?P<confidence>\d+) %\)\.)?'),
    ('in_turn', rf' In turn, (?P<count>\d+) more threads? of its process did the same, for (?P<time>{TIME}) of that time\.'),
    ('keepers', rf' Meanwhile (?P<first>{ONE}) had its processor for (?P<time>{TIME})(?P<others>(?:(?:, | and ){ONE} for {TIME})*)\.'),
    ('bound', rf' It stood at processor (?P<cpu>\d+) alone, while processor (?P<other>\d+) was idle for (?P<time>{TIME}) of that time: it is most likely bound to the first\.'),
    ('covers', rf' That explains (?P<time>{TIME}) of the time; why the rest took so long is not known\.'),
    ('limit', rf' (?P<who>{ONE}) went on only because its own time limit of (?P<time>{TIME}) ended the wait; nobody woke it\.'),
    ('certain', r' That is no guess: each wait (?P<of>of the circle|on the way), and who holds what it is for, stood like this for the whole time\.'),
    ('other_end', rf' Nobody (?P<how>had the other end of what it opened|wrote to what it reads) until (?P<who>{ONE}) came '
                  rf'\(event (?P<event>\d+)\)\.'),
    ('owner_ended', r' Who held that last, (?:process|thread) (?P<number>\d+), has ended without giving it back\.'),
    ('group_memory', rf' Its control group(?: (?P<path>\S+))? had used up its memory limit(?: of (?P<limit>[\d.]+ (?:bytes|KiB|MiB)))?'
                     rf'(?:, most of it in (?P<who>{ONE}): (?P<bytes>[\d.]+ (?:bytes|KiB|MiB)))?\.'),
    ('group_device', r' Its control group (?P<path>\S+) may (?:read|write|make) no more .+? a second, of the device (?P<device>\d+:\d+): what goes beyond is throttled\.'),
    ('device_beside', rf" Meanwhile (?P<who>{ONE}) waited for the same file system's device, for (?P<time>{TIME})\."),
    ('in_kernel', r' In the kernel it waits (?P<words>.+?)\.(?= [A-Z]|$)'),
    ('group_processes', rf' Its (?:control group (?P<path>\S+)|user \((?P<user>\d+)\)) (?:is|was) at its limit of \d+ processes and threads(?:, \d+ of them as (?P<most>{ONE}))?: it (?:can|could) start no other\.'),
    ('frozen', r' Its control group(?: (?P<path>\S+))? (?:is|was) frozen(?:; who did that is not known)?\.'),
    ('frozen_files', rf' The file system that (?P<who>{ONE}) writes to (?:is|was) frozen(?:, by (?P<by>{ONE}))?: '
                     rf'it (?:waits until that is|waited until that was) thawed(?:; who did that is not known)?\.'),
    ('background', rf' (?:It|{ONE}) was stopped by (?P<signal>SIGTTIN|SIGTTOU): in the background it may not (?:read from|write to, or set,) its terminal'
                   r'(?: (?P<path>\S+))?; it goes on when it is put into the foreground \(fg\)\.'),
    ('suspended', rf' (?:It|{ONE}) was stopped by SIGTSTP, as by Ctrl-Z at its terminal(?: (?P<path>\S+))?; '
                  r'it goes on when it is put into the foreground \(fg\)\.'),
    ('suspended', rf' (?:It|{ONE}) was stopped by SIGSTOP, from whom the kernel does not keep; SIGCONT lets it go on\.'),
    ('stopped_output', rf" The terminal's output (?:is stopped, as by Ctrl-S, until somebody lets it go on|was stopped, as by Ctrl-S, until "
                       rf'(?:somebody|(?P<by>{ONE})) let it go on(?: \(event (?P<event>\d+)\))?)(?:; (?P<shows>{ONE}), at its other side, only listen(?:s|ed))?\.'),
    ('only_threads', rf' Only another thread of its process can end that: (?P<threads>{ONE}.*?)\.(?= [A-Z]|$)'),
    ('sharers', rf' Any process that shares this memory can end that(?:, perhaps one of these: (?P<threads>{ONE}.*?))?\.(?= [A-Z]|$)'),
    ('mapped', rf' Only who has (?P<name>.+?) mapped can end that: (?P<threads>{ONE}.*?)\.(?= [A-Z\d]|$)'),
    ('mapped', r' No other process that could be looked into has that memory mapped(?P<fellows> but who waits for the same)?'
     r'(?:\.|(?P<named>: only one that opens it anew could end that\.)|(?P<unnamed>, and no name leads to it: nobody who was found can end that\.))'),
    ('unconnected', r' To whom it sent is not known: its socket is not connected, and the kernel keeps no address then\.'),
    ('fifo', r' It opens (?P<path>.+?), which nobody has open for (?P<way>writing|reading)\.'),
    ('other_fifo', rf' (?P<who>{ONE}), which the same process started, opens (?P<path>.+?), which nobody has open for (?P<way>writing|reading)\.'),
    ('past', rf' In (?P<function>[^,]+(?:, [^,]+)*?), (?P<who>{ONE}) is past the call in which this one waits: it may have what is waited for\.'),
    ('fellows', r' (?P<count>\d+) more (?:thread waits|threads wait) for the same\.'),
    ('session', rf' That session is one of (?P<who>{ONE})\.'),
    ('made_to_end', rf' (?P<who>{ONE}) was made to end its process, which (?:(?P<by>{ONE}) had|had been) sent (?P<signal>SIG[A-Z0-9+]+) \(event (?P<event>\d+)\)\.'),
    ('untaken', rf' (?P<who>{ONE}) was sent (?P<signal>SIG[A-Z0-9+]+) \(event (?P<event>\d+)\), which none of its threads has begun to handle\.'),
    ('kept_signal', rf' (?P<who>{ONE}) has not taken (?P<signal>SIG[A-Z0-9+]+)(?:, which (?P<by>{ONE}) sent it)? \(event (?P<event>\d+)\): '
                    r'(?P<why>it is stopped|it is frozen|it blocks that signal|no signal ends its wait inside the kernel)\.'),
    ('kept_descriptors', rf' (?P<who>{ONE}) (?:has|had) as many descriptors open as it may, (?P<limit>\d+) \(RLIMIT_NOFILE, event (?P<event>\d+)\): it (?:can|could) open and accept '
                         rf'no more(?:; (?P<count>\d+) of them (?:leads?|led) to (?P<other>{ONE}))?\.'),
    ('looks', rf' (?:Again and again|Between two sleeps) (?:it|{ONE}) (?P<how>looks for|tries for|tries to make|looks whether|tries to connect to|connects to|asks over) '
              rf'(?P<what>.+?): (?:(?P<times>\d+) times|once in the time seen)\.'),
    ('runs', rf' Again and again (?:it|(?P<who>{ONE})) runs `(?P<command>.+?)`, which fails: (?P<times>\d+) times\.'),
    ('watches', rf' (?:It|{ONE}) waits for changes of (?P<path>.+?)(?:, and of (?P<more>\d+) more)?, which (?:no other process that could be looked into has'
                rf'|(?P<who>{ONE})(?: and \d+ more have| has)) open for writing\.'),
    ('no_stacks', r' In which function is not known: no stacks were recorded\.'),
    ('callback', rf' In that time (?P<who>{ONE}) was in (?P<what>.+?), begun at (?P<at>\d+\.\d{{3}}) s \(event (?P<event>\d+)\)'
                 rf'(?P<around>(?:, called within .+?, begun at \d+\.\d{{3}} s \(event \d+\))*)'
                 rf'(?:; (?P<by>{ONE}) (?P<deed>.+?) at (?P<asked>\d+\.\d{{3}}) s \(event (?P<ask>\d+)\)(?:, from (?P<within>.+?))?)?\.(?= [A-Z]|$)'),
    ('similar', rf' A similar wait, at (?P<at>\d+\.\d{{3}}) s(?: of (?P<trace>.+?))?, took (?P<time>{TIME})(?P<steps>: .+?)?\.(?= This time| What| Of the| In the|$)'),
    ('this_time', rf' This time (?P<who>{ONE}|\S+)(?P<rest> .+?) and did (?:not do so|so late)\.'),
    ('trigger', rf' (?:What set it off|Also): (?P<who>{ONE}|\S+) (?P<words>.+?)(?: \(event (?P<event>\d+)\))?\.(?= [A-Z]|$)'),
    ('unexplained', rf' Of the window (?P<unknown>{TIME}) is unexplained and (?P<lost>{TIME}) lost\.'),
    ('uncertain', r' By the usual measure nothing hung; this took longest, and may be meant\.'),
    ('meant', r' (?:It may|Nothing hung for certain; this took longest, and may) be meant: (?P<says>it waits for a person|it waits until files change'
              r'|a server that rested meanwhile had no news for it|who was to end it let a time of its own pass|who was to answer it let a time of its own pass before it connected to another|it waits for its turn to rest|it rests where it waited|others that were served so ended well, after as long'
              r'|a part of the same program let its time pass|the program itself worked|what it ran did one thing after the other|its own time limit ended it'
              r'|little tells that it is a hang|nothing tells how soon it was to be|nothing tells what it waits for|nothing tells for certain what it looks for|nothing tells that it does not rest there|what it reads may come piece by piece)\.'),
    ('on_the_way', rf' This process did not hang by itself: (?P<who>{ONE}) hung because of it\.'),
    ('losses', rf' In the window (?P<count>\d+) events? w(?:as|ere) lost, in (?:a stretch of|stretches of up to) (?P<time>{TIME}): what happened there is not in the trace\.'),
    ('silence', rf' In the window nothing was written for up to (?P<time>{TIME}): what happened there is not in the trace\.'),
)]
ORDER = {name: place for place, name in enumerate(
    'verdict perhaps path nobody quota source far kept_out lost_between itself circle culprit keepers bound in_turn covers certain limit group_processes other_end owner_ended in_kernel only_threads sharers mapped past fellows fifo other_fifo unconnected session made_to_end untaken kept_signal kept_descriptors looks watches frozen frozen_files background runs no_stacks callback similar this_time trigger unexplained losses silence uncertain meant on_the_way'.split())}


def nanoseconds(text):
    number, unit = text.split()
    return round(float(number) * {'s': 1e9, 'ms': 1e6, 'us': 1e3}[unit])


def step_of(text):
    """How exactly a printed time is told."""
    return {'s': MS, 'ms': MS // 10, 'us': 1000}[text.split()[1]]


def at_most(text):
    """A printed time is cut, not rounded: so long it may have been."""
    return nanoseconds(text) + step_of(text)


def is_near(text, truth, share=0.005):
    """A printed time is cut, not rounded."""
    return abs(nanoseconds(text) - truth) <= step_of(text) + max(20000, truth * share)


def show(ns):
    return f'{ns / 1e9:.3f} s'


def escaped(text):
    return ''.join(c if c.isprintable() and c != '\\' else c.encode('unicode_escape').decode() for c in text)
