"""What a kind of hang gets that nobody foresaw: each kind is asked about again without the rules that are there for its own
sake, so that only those are left that were made for other kinds, or for all.

A rule is a kind's own where it names the kind's object: what is waited for, or who has it. Kinds that have an object in
common, as sockets of both sorts or words in memory, are left out together: else the other's rules would stand in. It is
left out wherever it would speak, also for the other kinds of the same run. What remains is how the recorder tells waits
apart, what words mean, and thresholds."""
import asking
import score

# What several kinds have in common.
OWNERS = ['owner_read', 'holds_it', 'same_word', 'lock_kept', 'lock_by_name', 'locked_part', 'inherited_lock']
OWNER_DIED = ['owner_ended', 'killed_kin', 'sharer_killed', 'ender_killed', 'taker_ended', 'ended_taker']
WORDS = ['held_up', 'nobody_can_end', 'closed', 'closed_process', 'made_threads', 'turned_mate', 'only_helped', 'all_rest', 'only_other',
         'hears_for_all', 'ended_kin', 'signal_elsewhere',
         'told_instead']
SHARED = ['shares_word', *OWNER_DIED]
FILE_LOCKS = ['file_lock', 'file_lock_tried', 'file_lock_holder', 'refused_anew', 'refused_again', 'refused_all_along']
FILE_SYSTEMS = ['file_server', 'fuse_server', 'frozen_unasked', 'thawed']
CHILDREN = ['child', 'idle_children', 'exec_late', 'answerer_killed', 'polls_children', 'own_children', 'working_child',
            'child_at_terminal',
            'awaited_command', 'dead_command', 'runs_commands', 'comes_and_goes', 'work_in_progress']
PIPES = ['not_taken', 'kept_open', 'gives_on', 'keeper', 'handed_on', 'rests_in_pool', 'opens_fifo', 'fifo_newcomer',
         'told_by_parent', 'listens_by_clock', 'drops', 'in_drops', 'reads_on']
LOOKS = ['looks_in_vain', 'looks_for_answer', 'looks_first', 'looked_at', 'flag_setter', 'flag_writer', 'asked_loop',
         'behind_looker', 'let_go_on', 'tries_for', 'had_it', 'killed_before',
         'left_behind', 'paces_itself', 'turned_then', 'works_between', 'all_along', 'nothing_came']
TRIES = ['tries_in_vain', 'tries_for', 'retry_partner', 'backs_off', 'gets_on', 'told_to_end']
SPINS = ['spins', 'spins_late', 'gives_up', 'asked_spin']
BUSES = ['bus', 'bus_in_turn', 'told_last', 'asked_anew']
SESSIONS = ['served_alone', 'idle_session', 'took_request', 'told_last', 'behind_server', 'at_prompt',
            'stands_for_another']
RELAYS = ['upstream', 'behind_server', 'asked_anew', 'stopped_neighbour', 'unread_datagrams', 'silent_upstream', 'beyond']
SOCKETS = ['other_end', 'peer_serves', 'awaits_us', 'not_accepted', 'reads_next_request', 'only_came', 'connects_in_poll',
           'asks_by_datagram', 'passed_socket', 'asks_next', 'answered_client']
NETWORK = ['from_here', 'in_flight', 'lost_on_its_way', 'lost_between', 'kept_out', 'let_go', 'far_host']
LOOPS = ['turn', 'open_turn', 'silent_turn', 'shared_loop', 'own_loop', 'request_way', 'loop_asks']
CIRCLES = ['circle', 'circle_unasked', 'asked_back', 'lockstep', 'each_its_word', 'twin']
PROCESSOR = ['starved', 'kept_off', 'ran_unseen']
STOPPED = ['stopped', 'asked_of_stopped', 'waits_for_stopped', 'stopped_neighbour', 'stopped_output', 'let_go_on', 'put_aside']
PERSON = ['person', 'for_person', 'terminal', 'driven', 'unattended', 'child_at_terminal', 'at_terminal', 'same_side',
          'stopped_output']
CLOCKS = ['armed_timer', 'own_clock', 'timer_thread', 'own_times', 'answers_by_clock', 'by_its_clock']

# Mechanisms, faults and shapes as the tables name them.
RULES = {
    'D-Bus': BUSES, 'bus': BUSES, 'message bus': BUSES,
    'FUSE': FILE_SYSTEMS, 'bindfs': FILE_SYSTEMS,
    'barrier': ['to_come', 'twin', *WORDS], 'condvar': WORDS, 'futex': WORDS, 'semaphore': [*WORDS, *SHARED, 'owner_read'], 'message queue': ['owner_read'],
    'mutex': [*OWNERS, *SHARED], 'rwlock': OWNERS, 'owner died': [*OWNER_DIED, *OWNERS],
    'join': ['owner_read', 'joined_before', 'launches', 'launched', 'launcher_rests', 'lead_asked'],
    'child': CHILDREN, 'helper': CHILDREN, 'build': CHILDREN,
    'circle': CIRCLES, 'lock order': CIRCLES, 'call back': CIRCLES, 'alarm': CIRCLES,
    'computing': ['computes', 'unread', 'works_between', 'works_as_told', 'own_work_alone'],
    'disk': ['kernel_wait', 'blocked_unasked', 'went_on_inside', 'set_to_work', 'device_late'],
    'eventfd': ['held_up', 'behind_bell', 'bell_as_word', 'listens_for_process'],
    'feeder': PIPES, 'pipe': PIPES,
    'file lock': FILE_LOCKS, 'file watch': ['watched_writer', 'for_file_change', 'watch_for_answer'],
    'frozen': [*STOPPED, *FILE_SYSTEMS],
    'look': [*LOOKS, 'file_lock_tried', 'refused_again'], 'retrying': [*LOOKS, *TRIES], 'spin': [*SPINS, 'flag_setter', 'flag_writer'],
    'no answer': ['asked_in_vain', 'gave_up', 'never_answered', 'waits_on'],
    'person': PERSON, 'stopped': STOPPED,
    'quota': PROCESSOR, 'starved': PROCESSOR,
    'redis': SESSIONS, 'server lock': SESSIONS, 'database': SESSIONS, 'window system': [*SESSIONS, 'windows_wait', 'only_events', 'draws_by_clock', 'windows_left', 'stands_inside'],
    'relay': RELAYS, 'proxy': RELAYS, 'one loop': LOOPS,
    'pool': ['rests_in_pool', 'threads_serve', 'turned_worker', 'rested_when_asked', 'only_helped', 'made_threads', 'left_to_others'],
    'signal': ['signal_elsewhere', 'signal_untaken', 'told_instead', 'told_to_end', 'until_told', 'called_by_signal', 'broken_off'],
    'sleeping': ['own_matter', 'word_sleep', 'short_sleeps', 'sleeps_as_told', 'takes_its_time'],
    'timer': CLOCKS,
    'tcp': [*SOCKETS, *NETWORK], 'unix socket': SOCKETS,
    'victim woken often': ['drops', 'woken_in_vain', 'waits_on', 'late_trip', 'beat', 'at_one_place'],
    'udp': [*SOCKETS, 'unread_datagrams'], 'socket passed on': SOCKETS, 'asked again': SOCKETS,
    'token': [*WORDS, *SHARED, 'owner_read', 'tokens'],
    'polled': LOOKS, 'pipeline': PIPES, 'inherited pipe': [*PIPES, *CHILDREN],
    'exhausted pool': [*WORDS, 'own_process', 'own_asker'],
}
HEADING = '## Kinds left out'
WANTED = 75     # per cent


def check(argus):
    """Rules that are named here and do not exist, or cannot be left out."""
    document, _, _, _ = asking.ask(argus, 'rules', '--json')
    known = {rule['rule'] for rule in document or [] if rule['stage'] != 'everywhere'}
    return sorted({name for names in RULES.values() for name in names} - known)


class Asked:
    """Of each run the same question is asked once for each set of rules."""

    def __init__(self, argus):
        self.argus, self.known = argus, {}

    def culprit(self, folder, truth, run, hint, without):
        key = folder, hint, tuple(sorted(set(without)))
        if key not in self.known:
            arguments = ['--pid', str(run['victim_pid'])] if hint == 'pid' else []
            arguments += ['--without', ','.join(key[2])] if without else []
            answer, status, _, messages = asking.ask(self.argus, 'why', '--json', *arguments, folder + '/trace')
            if not answer:
                raise RuntimeError(f'why {arguments} ended with status {status}: {messages}')
            self.known[key] = score.answer(answer, truth, run)['culprit']
        return self.known[key]


def count(argus, runs, say):
    """{kind: [runs, right by pid, alone, right without its own rules by pid, alone]}; runs: (folder, truth, run)."""
    asked, counts = Asked(argus), {}
    for number, (folder, truth, run) in enumerate(runs, 1):
        for kind in sorted({truth['shape'], truth['fault'], *truth['mechanisms']}):
            row = counts.setdefault(kind, [0] * 5)
            row[0] += 1
            for at, (hint, without) in enumerate((hint, rules) for rules in ([], RULES.get(kind, [])) for hint in ('pid', 'alone')):
                row[1 + at] += asked.culprit(folder, truth, run, hint, without)
        say(f'asked about {number} of {len(runs)}')
    return counts


def text(counts, runs):
    lines = [HEADING, '', f'`lab/run --left-out`: {len(runs)} runs with a fault of the development half, each at one level. Each kind is asked about again without the',
             'rules that are there for its own sake (`lab/left_out.py` names them): what is left is what a kind gets that nobody foresaw. At least',
             f'{WANTED} per cent are wanted: `less` where one of the two is below. A figure is how often the culprit was right in the first answer;',
             'a kind without rules of its own gets what all get.', '',
             '| kind | own rules | runs | with all: pid | alone | left out: pid | alone | |', '|---' * 8 + '|']
    sums = [0] * 5
    for kind in sorted(counts):
        row, own = counts[kind], len(set(RULES.get(kind, [])))
        less = own and min(row[3:]) * 100 < WANTED * row[0]
        lines.append(f"| {kind} | {own or '-'} | {row[0]} | {' | '.join(str(n) for n in row[1:])} | {'less' if less else ''} |")
        sums = [a + b for a, b in zip(sums, row)] if own else sums
    lines.append(f"| all that have some, in per cent | | {sums[0]} | {' | '.join(f'{100 * n / max(1, sums[0]):.0f}' for n in sums[1:])} | |")
    return '\n'.join(lines) + '\n'
