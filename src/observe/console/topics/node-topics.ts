/** Everything that can be followed on a node. */
import type { LiveTopic } from '../live-topic.ts'
import { Beat } from './beat.ts'
import type { NodeParts } from './node-parts.ts'
import { OverviewTopic } from './overview-topic.ts'
import { PacedTraffic } from './paced-traffic.ts'
import { ServiceChanges } from './service-changes.ts'
import { ServiceTopic } from './service-topic.ts'
import { ServicesTopic } from './services-topic.ts'
import { SyncsTopic } from './syncs-topic.ts'

export function nodeTopics(parts: NodeParts): readonly LiveTopic[] {
  const shared = {
    ...parts,
    beat: new Beat(parts),
    changes: new ServiceChanges(parts),
    traffic: new PacedTraffic(parts),
  }
  return [new OverviewTopic(shared), new ServicesTopic(shared), new ServiceTopic(shared), new SyncsTopic(shared)]
}
