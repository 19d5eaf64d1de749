/** The sets that kube-proxy's ipvs mode makes. */

const typesByName: Readonly<Record<string, string>> = {
  'KUBE-LOOP-BACK': 'hash:ip,port,ip',
  'KUBE-CLUSTER-IP': 'hash:ip,port',
  'KUBE-EXTERNAL-IP': 'hash:ip,port',
  'KUBE-EXTERNAL-IP-LOCAL': 'hash:ip,port',
  'KUBE-LOAD-BALANCER': 'hash:ip,port',
  'KUBE-LOAD-BALANCER-FW': 'hash:ip,port',
  'KUBE-LOAD-BALANCER-LOCAL': 'hash:ip,port',
  'KUBE-LOAD-BALANCER-SOURCE-IP': 'hash:ip,port,ip',
  'KUBE-LOAD-BALANCER-SOURCE-CIDR': 'hash:ip,port,net',
  'KUBE-NODE-PORT-TCP': 'bitmap:port',
  'KUBE-NODE-PORT-LOCAL-TCP': 'bitmap:port',
  'KUBE-NODE-PORT-UDP': 'bitmap:port',
  'KUBE-NODE-PORT-LOCAL-UDP': 'bitmap:port',
  'KUBE-NODE-PORT-SCTP-HASH': 'hash:ip,port',
  'KUBE-NODE-PORT-LOCAL-SCTP-HASH': 'hash:ip,port',
  'KUBE-HEALTH-CHECK-NODE-PORT': 'bitmap:port',
  'KUBE-IPVS-IPS': 'hash:ip',
}

/** The kernel allows 31 bytes for a name, so two of the IPv6 names are cut. */
const ipv6Name = (name: string) => name.replace('KUBE-', 'KUBE-6-').slice(0, 31)

const typesByAnyName: ReadonlyMap<string, string> = new Map(
  Object.entries(typesByName).flatMap(([name, type]) => [
    [name, type],
    [ipv6Name(name), type],
  ]),
)

/** Both must fit: a set of the same name but another kind is somebody else's. */
export function isProxySet(name: string, type: string): boolean {
  return typesByAnyName.get(name) === type
}
