/** All about one Service, alive: the picture, its endpoints, what was said about it, and what is programmed for it. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { PortDetail, ServiceDetail } from '../../../src/observe/console/wire.ts'
import { follow } from '../../live/live.ts'
import { Choice } from '../../parts/choice.tsx'
import { Picture } from '../../parts/picture/picture.tsx'
import { EndpointsTable } from './endpoints-table.tsx'
import { ServiceFacts } from './service-facts.tsx'
import { ServiceHistory } from './service-history.tsx'
import { ServiceRules } from './service-rules.tsx'
import '../../styles/panel.css'
import './service-page.css'

export function ServicePage({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  const detail = useSignal<ServiceDetail | undefined>(undefined)
  const chosen = useSignal('')
  useEffect(() => {
    detail.value = undefined
    return follow(`service/${namespace}/${name}`, 'service', (data) => {
      if (data.key === `${namespace}/${name}`) detail.value = data
    })
  }, [namespace, name, detail])

  const known = detail.value
  if (known === undefined) return <p class="quiet">Waiting for what is known of {`${namespace}/${name}`}.</p>
  if (known.isGone === true)
    return (
      <p>
        This node knows no Service {known.key}. It may have been deleted. <a href="/services">All Services</a>
      </p>
    )
  const port = known.ports.find((one) => idOf(one) === chosen.value) ?? known.ports[0]
  return (
    <>
      <ServiceFacts detail={known} />
      {known.ports.length > 1 && (
        <PortChoice ports={known.ports} chosen={port} onChoose={(id) => (chosen.value = id)} />
      )}
      {port === undefined ? (
        <p>It has no port that this node serves.</p>
      ) : (
        <>
          <section class="card" aria-labelledby="picture-of">
            <h2 id="picture-of">From clients to endpoints</h2>
            <p class="small">
              <a href={explainLink(known.key, port)}>Explain a connection to it, step by step</a>
            </p>
            {port.notProgrammed !== undefined && (
              <p class="not-programmed" role="alert">
                Not programmed: {port.notProgrammed}
              </p>
            )}
            <Picture port={port} policies={known.row?.policies} />
          </section>
          <EndpointsTable port={port} />
        </>
      )}
      <ServiceHistory service={known.key} />
      <ServiceRules service={known.key} route={port?.route} family={port?.family} />
    </>
  )
}

function idOf({ route, family }: PortDetail): string {
  return `${route} ${family}`
}

interface PortChoiceProps {
  readonly ports: readonly PortDetail[]
  readonly chosen: PortDetail | undefined
  readonly onChoose: (id: string) => void
}

function PortChoice({ ports, chosen, onChoose }: PortChoiceProps) {
  const families = new Set(ports.map(({ family }) => family))
  return (
    <Choice
      legend="Port"
      name="port"
      options={ports.map((port) => ({
        value: idOf(port),
        label: families.size > 1 ? `${portName(port)}, ${port.family === 'ipv4' ? 'IPv4' : 'IPv6'}` : portName(port),
      }))}
      value={chosen && idOf(chosen)}
      onChoose={onChoose}
    />
  )
}

function portName({ port: { name, port, protocol } }: PortDetail): string {
  return `${name === undefined || name === '' ? '' : `${name} `}${port}/${protocol}`
}

function explainLink(key: string, { port }: PortDetail): string {
  const [namespace = '', name = ''] = key.split('/')
  const query = new URLSearchParams({ target: `service/${name}`, namespace, port: String(port.port) })
  return `/explain?${query.toString()}`
}
