/* How one on the way leads to the next, in words: behind who that is (see cases/check_links.py). */
#include "diagnose/walk.h"

const char *walk_link_words(enum walk_link link)
{
	switch (link) {
	case LINK_SELF: return "";
	case LINK_WAKE: return "woke it";
	case LINK_CREATOR: return "created the thread that woke it";
	case LINK_MESSAGE: return "was sent its message";
	case LINK_SENT: return "sent it what set it to work";
	case LINK_ACTIVITY: return "was set to work on its behalf";
	case LINK_OWNER: return "owns what it waits for (a hint)";
	case LINK_JOINED: return "is the thread whose end it awaits (a hint)";
	case LINK_ENDED: return "had ended with the lock that it waits for";
	case LINK_INHERITED: return "had the lock when the one that waits was forked off, whose copy of it nobody can give back";
	case LINK_KILLED: return "was killed, and may have had what it waits for";
	case LINK_ENDED_KIN: return "is of its process, and the only thread of it that ended";
	case LINK_ENDED_TAKER: return "is the only one of its program that came and ended just before, and may have what it waits for";
	case LINK_GONE: return "is the only one of its kin that ended just before, or meanwhile, and may have been to end that";
	case LINK_PEER: return "is at the other end";
	case LINK_LISTENER: return "has not accepted its connection";
	case LINK_SERVED: return "is the only one that it listens to, and leaves what others sent unread";
	case LINK_FILE_LOCK: return "holds the file lock";
	case LINK_LEASE: return "holds a lease on a file, and has not given it up";
	case LINK_TO_COME: return "has not come to where it waits";
	case LINK_CAME_LAST: return "came last to where it waited";
	case LINK_ASKED: return "was set to work by it just before, and was not done while it looked";
	case LINK_CHILD: return "is its child";
	case LINK_STARTED: return "is a thread that it started";
	case LINK_CLOSED: return "is of its process, in which all threads wait for nothing but each other, and began to wait last";
	case LINK_CLOSED_BUT: return "is of its process, in which all threads wait for each other, or only sleep, and began to wait last";
	case LINK_BEGAN_LAST: return "is of its process, and was the last there to begin a wait without a limit, behind it";
	case LINK_BACKING: return "serves the file system on which a loop device's file lies";
	case LINK_SERVER: return "serves the file system";
	case LINK_SUPERVISOR: return "is the one that is to let it go on";
	case LINK_LOCKSTEP: return "waits at the same place until this gives up, as if each had what the other needs";
	case LINK_FLAG: return "is the one that most likely changes what it looks at";
	case LINK_WROTE: return "wrote what it looks at, which ended the loop";
	case LINK_AWAITED: return "is the process whose end it awaits";
	case LINK_PARENT: return "is the parent of the process that it looks for, which has ended, and did not take note of that";
	case LINK_HAD_IT: return "took away what it tried to make, and most likely had it";
	case LINK_TRACER: return "traces it, and had not let it go on";
	case LINK_TOLD: return "was told, in its place, what it waits for";
	case LINK_SIGNALLED: return "was told to end, by a signal, and did not at once";
	case LINK_SIMILAR: return "should have ended it, as it did another time";
	case LINK_ONE_TIME: return "does what is done once only, for whose end it waits";
	case LINK_PROCESS: return "is of the same process";
	case LINK_SHARES_ALONE: return "has that memory mapped, and is the only one that could end the wait";
	case LINK_SHARES: return "has that memory mapped, too, as others do";
	case LINK_HAS_IT: return "has what it looks for open";
	case LINK_WRITES: return "has what it watches open for writing";
	case LINK_KEEPS_OPEN: return "has the pipe open still that it had from one that has ended";
	case LINK_FILLS_GROUP: return "is of the program that has most of the processes that its control group may have";
	case LINK_AT_WORK: return "is at work for another that asked its server, and may have what it waits for";
	case LINK_SESSION: return "serves another session, which is open, and may have what it waits for";
	}
	return "";
}
