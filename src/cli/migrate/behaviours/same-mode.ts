/** What differs in a mode that both have. */
import { behaviours } from '../difference.ts'

const iptables = behaviours({ from: ['iptables'], to: ['iptables'] }, [
  {
    name: 'iptables-size-of-a-sync',
    kubeProxy: 'A partial sync rewrites all shared chains: its size grows with the Services.',
    fairlead: 'It sends only the rules of changed Services.',
    shownBy: 'src/backends/iptables/edit.test.ts',
  },
  {
    name: 'iptables-changes-by-others',
    kubeProxy: 'Only a flush of all tables is noticed, by a canary chain, within the sync period.',
    fairlead: 'Any change of its own rules is noticed within seconds and repaired, also above 1,000 endpoints.',
    action: 'If a program of yours edits KUBE-… chains on purpose, it loses: stop it.',
    shownBy: 'tests/packet/failures.test.ts',
  },
  {
    name: 'iptables-jumps',
    kubeProxy: 'Jumps are checked with 28 commands.',
    fairlead: 'Tables are read once, and jumps are part of the same restore.',
    shownBy: 'src/backends/iptables/iptables-backend.test.ts',
  },
  {
    name: 'iptables-external-ip-of-a-load-balancer',
    kubeProxy: 'An external IP that is a load-balancer IP too is open to everybody.',
    fairlead: 'loadBalancerSourceRanges hold there too.',
    action: 'Add the clients that used it so far to the source ranges.',
    shownBy: 'src/core/routing/entrances.test.ts',
  },
  {
    name: 'iptables-order-of-rules',
    kubeProxy: 'In shared chains, Services are in random order.',
    fairlead: 'The API server and cluster DNS first, then the rest; later changes go on top.',
    shownBy: 'src/core/sync/programming-order.ts',
  },
  {
    name: 'iptables-full-syncs',
    kubeProxy: 'Large clusters have no hourly full sync, and keep unused chains for a while.',
    fairlead: 'Full syncs are hourly, and unused chains are deleted at once, in clusters of any size.',
    shownBy: 'src/backends/iptables/iptables-backend.test.ts',
  },
  {
    name: 'iptables-failing-save',
    kubeProxy: 'A full sync goes on when iptables-save fails.',
    fairlead: 'It needs a working iptables-save, and is retried if that fails.',
    shownBy: 'src/backends/iptables/iptables-backend.ts',
  },
])

const nftables = behaviours({ from: ['nftables'], to: ['nftables'] }, [
  {
    name: 'nftables-table',
    kubeProxy: 'The tables are called kube-proxy, with a chain and a map for each Service.',
    fairlead: 'They are called fairlead, with maps for all Services together.',
    action: 'Scripts that read the table kube-proxy need the new names.',
    rollback: 'Once kube-proxy has synced: fairlead --cleanup --only-own-tables',
    shownBy: 'tests/golden-nftables.test.ts',
  },
  {
    name: 'nftables-listing',
    kubeProxy: 'The whole table is listed in each sync.',
    fairlead: 'It is read at the start, after a failure, and to repair.',
    shownBy: 'src/backends/nftables/edit.test.ts',
  },
  {
    name: 'nftables-changes-by-others',
    kubeProxy: 'Changes by other programs stay up to an hour.',
    fairlead: 'They are noticed within seconds and repaired.',
    shownBy: 'tests/packet/nftables-damage.test.ts',
  },
  {
    name: 'nftables-service-cidrs',
    kubeProxy: 'A new ServiceCIDR takes effect after up to an hour.',
    fairlead: 'It takes effect at once.',
    shownBy: 'tests/packet/service-cidrs.test.ts',
  },
  {
    name: 'nftables-long-names',
    kubeProxy: 'A Service without endpoints whose name has over 128 characters stops all updates.',
    fairlead: 'Its comment is cut.',
    shownBy: 'src/backends/nftables/explained-fates.property.test.ts',
  },
  {
    name: 'nftables-empty-chains',
    kubeProxy: 'Empty chains stay until some later sync.',
    fairlead: 'They are deleted right after the sync.',
    shownBy: 'src/backends/nftables/edit.test.ts',
  },
])

const ipvs = behaviours({ from: ['ipvs'], to: ['ipvs'] }, [
  {
    name: 'ipvs-deprecated',
    kubeProxy: 'ipvs mode is deprecated since 1.35.',
    fairlead: 'It stays. For new clusters nftables mode is better.',
    shownBy: 'docs/ipvs.md',
  },
  {
    name: 'ipvs-work-of-a-sync',
    kubeProxy: 'Each sync walks all Services, lists all sets, queries each virtual server and restores the rules.',
    fairlead: 'A sync handles only what changed. Rules are written when a set gets its first entry or loses its last.',
    shownBy: 'src/backends/ipvs/ipvs-backend.test.ts',
  },
  {
    name: 'ipvs-set-entries',
    kubeProxy: 'There is one ipset process for each entry.',
    fairlead: 'There is one for all entries of a sync.',
    shownBy: 'src/backends/ipvs/ipvs-backend.test.ts',
  },
  {
    name: 'ipvs-changes-by-others',
    kubeProxy: 'Changes by other programs are repaired by the next sync.',
    fairlead: 'They are noticed within seconds and repaired.',
    shownBy: 'src/backends/ipvs/drift-watch.test.ts',
  },
  {
    name: 'ipvs-removed-endpoint',
    kubeProxy: 'An endpoint is deleted if it had no connection a moment ago.',
    fairlead: 'Its weight is set to 0 first, so that no new connection can come in between.',
    shownBy: 'src/backends/ipvs/graceful-termination.test.ts',
  },
  {
    name: 'ipvs-endpoint-comes-back',
    kubeProxy: 'An endpoint that comes back while it drains is deleted and added: its clients may be reset.',
    fairlead: 'It gets its weight back.',
    shownBy: 'src/backends/ipvs/graceful-termination.test.ts',
  },
  {
    name: 'ipvs-single-address-range',
    kubeProxy: 'A source range of one address leaves and enters its set at each sync.',
    fairlead: 'It stays.',
    shownBy: 'src/backends/ipvs/incremental.property.test.ts',
  },
  {
    name: 'ipvs-node-ports-on-cluster-ips',
    kubeProxy: 'CIDRs in nodePortAddresses that hold cluster IPs open node ports on cluster IPs.',
    fairlead: 'Node ports are open on addresses of the node only.',
    shownBy: 'src/backends/ipvs/node-addresses.test.ts',
  },
  {
    name: 'ipvs-health-check-ports',
    kubeProxy: 'Without an address for node ports, health-check ports are not let through either.',
    fairlead: 'Health-check ports are let through.',
    shownBy: 'src/backends/ipvs/plan.test.ts',
  },
  {
    name: 'ipvs-without-xt-ipvs',
    kubeProxy: 'A kernel without xt_ipvs stops all updates once a Service has source ranges.',
    fairlead: 'That Service is reported, all others are programmed.',
    shownBy: 'src/backends/ipvs/ipvs-backend.test.ts',
  },
])

export const sameMode = { iptables, nftables, ipvs }
