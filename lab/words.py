"""Names for the programs of the laboratory: what a process is, what it does, to what. A
seed draws from them, so no name stands for a mechanism or for guilt."""

ROLES = '''browser renderer compositor indexer archiver mailer ledger catalog gateway spooler shaper planner
pricer router broker tagger scanner encoder decoder mixer player viewer editor builder linker packer loader
fetcher crawler parser printer notifier tracker sampler balancer resolver registry keyring vault journal
snapper mirror courier porter clerk steward warden curator assembler painter typesetter translator geocoder
thumbnailer previewer exporter importer reporter auditor biller ranker matcher sorter merger splitter
watcher poller sequencer arbiter allocator monitor presenter messenger dispatcher carver stitcher weaver
tuner scheduler collector uploader downloader verifier signer hasher searcher suggester speller'''.split()

VERBS = '''fetch load store resolve render decode encode pack unpack parse index match merge rank price
verify sign translate lookup publish commit enqueue transfer convert resize compress inflate layout shape
paint compile link stage export import validate refresh mirror quote format estimate assemble'''.split()

THINGS = '''tile glyph font page row table order invoice ticket image frame track chunk block object record
entry session cookie token user group photo album route stop parcel label letter draft note event slot
layer brush mask curve node edge shard bucket segment manifest bundle package module symbol query result
cursor column report chart sheet cell form field dialog menu icon theme cache hint word phrase'''.split()

# What a program calls the code that is slow, whatever the cause is.
SLOW = '''rebuild_index recompute_layout compact_segments reload_settings refresh_catalog migrate_schema
rotate_archive expire_entries rescan_folder settle_balance reconcile_stock flush_backlog warm_cache
rebalance_shards check_licence prune_history audit_trail load_plugins collect_garbage vacuum_table
retry_upload renew_lease sync_replica hash_passwords walk_tree resolve_conflicts encode_preview'''.split()


class Names:
    """Draws without repeating."""

    def __init__(self, rng):
        self.rng = rng
        self.roles = rng.sample(ROLES, len(ROLES))
        self.pairs = set()
        self.slows = rng.sample(SLOW, len(SLOW))

    def role(self):
        return self.roles.pop()

    def slow(self):
        return self.slows.pop()

    def deed(self):
        while True:
            pair = self.rng.choice(VERBS) + '_' + self.rng.choice(THINGS)
            if pair not in self.pairs:
                self.pairs.add(pair)
                return pair
