/** What an HNS can do, by its version. */
import type { HnsVersion } from './hcn.ts'

export interface HnsFeatures {
  /** The API that everything here uses. */
  readonly apiV2: boolean
  /** Overlay networks need it. */
  readonly remoteSubnet: boolean
  /** Direct server return. Without it HNS cannot keep the address of a client. */
  readonly dsr: boolean
  readonly ipv6DualStack: boolean
  readonly sessionAffinity: boolean
  /** Replacing the endpoints of a load balancer in place. */
  readonly modifyLoadBalancer: boolean
}

/** First and last version; without a last one, every later version has it. */
type Range = readonly [first: HnsVersion, last?: HnsVersion]

const anyMinor = Number.POSITIVE_INFINITY

const rangesByFeature: Readonly<Record<keyof HnsFeatures, readonly Range[]>> = {
  apiV2: [[v(9, 2)]],
  remoteSubnet: [[v(9, 2)]],
  dsr: [[v(9, 3), v(9, anyMinor)], [v(10, 2)]],
  ipv6DualStack: [[v(11, 10)]],
  sessionAffinity: [[v(12, 0)]],
  // 15.4 accepts a change and ignores it: kubernetes#131466.
  modifyLoadBalancer: [[v(15, 5)]],
}

export function featuresOf(version: HnsVersion): HnsFeatures {
  const has = (feature: keyof HnsFeatures) => rangesByFeature[feature].some((range) => isWithin(version, range))
  return {
    apiV2: has('apiV2'),
    remoteSubnet: has('remoteSubnet'),
    dsr: has('dsr'),
    ipv6DualStack: has('ipv6DualStack'),
    sessionAffinity: has('sessionAffinity'),
    modifyLoadBalancer: has('modifyLoadBalancer'),
  }
}

/** Negative if `a` is older than `b`. */
export function compareVersions(a: HnsVersion, b: HnsVersion): number {
  return a.major === b.major ? a.minor - b.minor : a.major - b.major
}

function isWithin(version: HnsVersion, [first, last]: Range): boolean {
  return compareVersions(version, first) >= 0 && (last === undefined || compareVersions(version, last) <= 0)
}

function v(major: number, minor: number): HnsVersion {
  return { major, minor }
}
