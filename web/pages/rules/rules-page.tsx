/** All that is programmed, as the tools of the mode read it. */
import { useMemo } from 'preact/hooks'
import { about } from '../../live/live.ts'
import { askText, debugUrl, useAsked } from '../../live/ask.ts'
import { CodeLines } from '../../parts/code/code-lines.tsx'
import { location, replace } from '../../shell/route.ts'
import { Choice } from '../../parts/choice.tsx'
import { Problem } from '../../parts/problem.tsx'
import { sectionsOf } from './sections.ts'
import '../../styles/panel.css'

const familyNames = { ipv4: 'IPv4', ipv6: 'IPv6' } as const

export function RulesPage() {
  const families = about.value?.families ?? []
  const { searchParams } = location.value
  const family = families.find((one) => one === searchParams.get('family')) ?? families[0]
  const { answer, isUnderWay, again } = useAsked(family, (signal) => askText('rules', { family }, signal))
  const text = answer?.ok === true ? answer.value : ''
  const sections = useMemo(() => sectionsOf(text), [text])
  const section = sections.find(({ part }) => part === searchParams.get('part')) ?? sections[0]
  const show = (change: { readonly family?: string; readonly part?: string }) => {
    const query = new URLSearchParams(searchParams)
    for (const [name, value] of Object.entries(change)) query.set(name, value)
    replace(`/rules?${query.toString()}`)
  }
  return (
    <>
      <div class="bar">
        {families.length > 1 && (
          <Choice
            legend="Family"
            name="family"
            options={families.map((one) => ({ value: one, label: familyNames[one] }))}
            value={family}
            onChoose={(value) => show({ family: value })}
          />
        )}
        {sections.length > 1 && (
          <Choice
            legend="Part"
            name="part"
            options={sections.map(({ part }) => ({ value: part, label: part }))}
            value={section?.part}
            onChoose={(value) => show({ part: value })}
          />
        )}
        <span class="bar-end">
          <button class="button" type="button" disabled={isUnderWay} onClick={again}>
            Read again
          </button>
          {section !== undefined && (
            <a
              class="button"
              download={`fairlead-${[family, section.part].filter(Boolean).join('-')}.txt`}
              href={debugUrl('rules', { family, part: section.part || undefined })}
            >
              Download
            </a>
          )}
        </span>
      </div>
      {answer === undefined && <p class="quiet">Reading the rules.</p>}
      {answer?.ok === false && <Problem text={answer.problem} />}
      {answer?.ok === true &&
        (section === undefined ? (
          <p>Nothing is programmed for {family === undefined ? 'this node' : familyNames[family]}.</p>
        ) : (
          <CodeLines
            key={`${family} ${section.part}`}
            label={`the rules of ${[family && familyNames[family], section.part].filter(Boolean).join(', ')}`}
            text={section.text}
          />
        ))}
    </>
  )
}
