/** The demo: what a service proxy does, seen and tried. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { DemoState, Overview, ServiceDetail } from '../../../src/observe/console/wire.ts'
import { follow } from '../../live/live.ts'
import { DemoCluster } from './demo-cluster.tsx'
import { DemoServiceSection } from './demo-service.tsx'
import { DemoStory } from './demo-story.tsx'
import './demo.css'

const services = ['shop/web', 'shop/api', 'shop/echo', 'shop/closed']

export function DemoPage() {
  const state = useSignal<DemoState | undefined>(undefined)
  const source = useSignal<Overview['source'] | undefined>(undefined)
  const details = useSignal<ReadonlyMap<string, ServiceDetail>>(new Map())
  useEffect(() => {
    const ends = [
      follow('demo', 'demo', (data) => (state.value = data)),
      follow('overview', 'overview', (data) => (source.value = data.source)),
      ...services.map((key) => {
        const [namespace = '', name = ''] = key.split('/')
        return follow(`service/${namespace}/${name}`, 'service', (data) => {
          if (data.key === key) details.value = new Map(details.value).set(key, data)
        })
      }),
    ]
    return () => ends.forEach((end) => end())
  }, [state, source, details])

  const known = state.value
  if (known === undefined) return <p class="quiet">Waiting for the demo.</p>
  const present = services.flatMap((key) => known.services.filter((service) => service.key === key))
  return (
    <div class="demo">
      <div class="demo-top">
        <section class="card demo-intro" aria-labelledby="demo-intro">
          <h2 id="demo-intro">What a service proxy does</h2>
          <p>
            A <b>Service</b> is one steady address for programs that come and go: its replicas, or <b>endpoints</b>. On
            every node a <b>service proxy</b> sees to it that a connection to the address reaches an endpoint that can
            answer.
          </p>
          <p>
            Below, a small shop runs for real on this machine. Clients ask its Services while you look; each dot is a
            connection on its way. <b>Break something, and watch what the proxy does.</b>
          </p>
        </section>
        <DemoCluster state={known} source={source.value} />
        <DemoStory story={known.story} />
      </div>
      {present.map((service) => (
        <DemoServiceSection key={service.key} service={service} detail={details.value.get(service.key)} />
      ))}
    </div>
  )
}
