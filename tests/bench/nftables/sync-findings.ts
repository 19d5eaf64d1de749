/** What the numbers say about the promises. */
import { spreadOf } from '../statistics.ts'
import type { Spread } from '../statistics.ts'
import type { NftablesRun } from './nftables-run.ts'
import type { SyncCase } from './syncs.ts'

/** With 10,000 Services of 4 endpoints each, on two cores. */
const promised = {
  services: 10_000,
  fromLastByteMs: 1000,
  firstSyncTimes: 10,
  changeP99Ms: 20,
  changeTimes: 100,
  residentMb: 0.8 * 378,
  largest: 50_000,
}

/** For those who have no kube-proxy at hand, and as the measure of memory. Measured once, with Linux 6.18 and nft 1.0.6. */
export const recorded = {
  title: '10,000 Services, kube-proxy 1.36 (recorded elsewhere: a quiet machine with two cores)',
  firstSync: '13.9',
  oneEndpoint: '3,600 – 4,000',
  residentMb: '378',
}

export function syncFindings(cases: readonly SyncCase[]): readonly string[] {
  const [ours, peer] = cases.filter(({ services }) => services === promised.services)
  const largest = cases.find(({ services }) => services === promised.largest)
  if (ours === undefined || largest === undefined) return []
  return [...limits(ours), ...(peer === undefined ? [] : ratios(ours, peer)), growth(ours, largest)]
}

function limits(ours: SyncCase): readonly string[] {
  const lastByte = spreadOf(ours.runs.map(({ fromLastByteMs }) => fromLastByteMs))
  const change = changesOf(ours)
  const resident = spreadOf(ours.runs.map(({ residentMb }) => residentMb))
  return [
    `First sync of 10,000 Services within 1.0 s of the last event: ${verdict(lastByte.median <= promised.fromLastByteMs)} (median ${(lastByte.median / 1000).toFixed(2)} s, best ${(lastByte.min / 1000).toFixed(2)} s).`,
    `One endpoint of 10,000 Services within 20 ms at p99, from event to commit: ${verdict(change.p99 <= promised.changeP99Ms)} (p50 ${change.median.toFixed(1)} ms, p99 ${change.p99.toFixed(1)} ms).`,
    `Memory with 10,000 Services at most 0.8 times kube-proxy's 378 MB: ${verdict(resident.median <= promised.residentMb)} (${resident.median.toFixed(0)} MB).`,
  ]
}

function ratios(ours: SyncCase, peer: SyncCase): readonly string[] {
  const times = (read: (run: NftablesRun) => number) =>
    spreadOf(peer.runs.map(read)).median / spreadOf(ours.runs.map(read)).median
  const first = times(({ firstSyncMs }) => firstSyncMs)
  const change = changesOf(peer).median / changesOf(ours).median
  return [
    `kube-proxy : Fairlead, first sync of 10,000 Services: ${first.toFixed(1)}, promised ${promised.firstSyncTimes}: ${verdict(first >= promised.firstSyncTimes)}.`,
    `kube-proxy : Fairlead, one endpoint of 10,000 Services: ${Math.round(change).toLocaleString('en')}, promised ${promised.changeTimes}: ${verdict(change >= promised.changeTimes)}.`,
    `kube-proxy : Fairlead with 10,000 Services: ${times(({ cpuPerChangeMs }) => cpuPerChangeMs).toFixed(0)} in CPU time for one endpoint, ${times(({ burstMs }) => burstMs).toFixed(1)} in time for 100 Services at once, ${times(({ residentMb }) => residentMb).toFixed(2)} in memory.`,
  ]
}

function growth(ours: SyncCase, largest: SyncCase): string {
  const first = (one: SyncCase) => spreadOf(one.runs.map(({ firstSyncMs }) => firstSyncMs)).median
  const services = largest.services / ours.services
  const firstGrowth = first(largest) / first(ours)
  const changeGrowth = changesOf(largest).median / changesOf(ours).median
  const isLinear = firstGrowth <= services && changeGrowth <= services
  return `${services} times the Services take ${firstGrowth.toFixed(1)} times as long in the first sync and ${changeGrowth.toFixed(1)} times for one endpoint; at most linear: ${verdict(isLinear)}.`
}

function changesOf({ runs }: SyncCase): Spread {
  return spreadOf(runs.flatMap(({ changesMs }) => changesMs))
}

function verdict(isMet: boolean): string {
  return isMet ? 'met' : '**missed**'
}
