/* See watch_sites.h. */
#ifdef HAVE_BPF
#include "record/watch_sites.h"

#include <bpf/bpf.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "record/watch_maps.h"

#define SITES_KNOWN 4096u    /* a power of two */

struct site {
	uint64_t ip;
	uint32_t pid;
	uint8_t access;          /* enum instruction_access */
	bool used;
};

struct watch_sites {
	int kept;
	pthread_mutex_t lock;
	struct site items[SITES_KNOWN];
	uint32_t used;
};

struct watch_sites *watch_sites_new(int kept)
{
	struct watch_sites *sites = mem_zalloc(sizeof(*sites));

	sites->kept = kept;
	pthread_mutex_init(&sites->lock, NULL);
	return sites;
}

void watch_sites_free(struct watch_sites *sites)
{
	pthread_mutex_destroy(&sites->lock);
	free(sites);
}

static enum instruction_access decode(const struct watch_sites *sites, uint32_t pid, uint64_t ip)
{
	struct watch_key key = { .address = ip, .pid = pid };
	struct watch_site site;
	uint32_t before, after;

	if (bpf_map_lookup_elem(sites->kept, &key, &site))
		return ACCESS_unknown;
	before = site.before < WATCH_SITE_BEFORE ? site.before : WATCH_SITE_BEFORE;
	after = site.after < WATCH_SITE_AFTER ? site.after : WATCH_SITE_AFTER;
	return instruction_access(site.code + WATCH_SITE_BEFORE - before, before, after);
}

enum instruction_access watch_sites_access(struct watch_sites *sites, uint32_t pid, uint64_t ip)
{
	uint64_t at = hash_u64(ip ^ (uint64_t)pid << 40);
	enum instruction_access access;
	struct site *site;

	pthread_mutex_lock(&sites->lock);
	for (site = &sites->items[at & (SITES_KNOWN - 1)]; site->used; site = &sites->items[++at & (SITES_KNOWN - 1)])
		if (site->ip == ip && site->pid == pid)
			break;
	if (site->used) {
		access = site->access;
	} else {
		access = decode(sites, pid, ip);
		if (sites->used < SITES_KNOWN * 3 / 4) {
			*site = (struct site){ ip, pid, (uint8_t)access, true };
			sites->used++;
		}
	}
	pthread_mutex_unlock(&sites->lock);
	return access;
}
#endif
