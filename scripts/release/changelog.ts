/** CHANGELOG.md: one section for each version, the newest first, with the date of its release or the word "unreleased". */

export interface ChangelogSection {
  readonly version: string;
  /** `2026-01-31`, or undefined for a version that is not released. */
  readonly date: string | undefined;
  /** What stands below the heading. */
  readonly text: string;
}

const HEADING = /^## (?<version>\S+) \((?<when>unreleased|\d{4}-\d{2}-\d{2})\)$/;

/** The sections, in their order. Throws for a heading that names no version, or not when it was released. */
export function changelogSections(changelog: string): readonly ChangelogSection[] {
  const sections = changelog.split(/^(?=## )/m).filter((part) => part.startsWith('## '));
  return sections.map((section) => {
    const [heading = '', ...lines] = section.split('\n');
    const { version, when } = HEADING.exec(heading.trimEnd())?.groups ?? {};
    if (version === undefined) {
      throw new Error(`CHANGELOG.md: "${heading}" is not a heading such as "## 1.2.3 (unreleased)"`);
    }
    return { version, date: when === 'unreleased' ? undefined : when, text: lines.join('\n').trim() };
  });
}

/** The changelog with a date in place of the word "unreleased" of a version. */
export function datedChangelog(changelog: string, version: string, date: string): string {
  const heading = `## ${version} (unreleased)`;
  const lines = changelog.split('\n');
  const at = lines.findIndex((line) => line.trimEnd() === heading);
  if (at < 0) throw new Error(`CHANGELOG.md has no heading "${heading}"`);
  return lines.with(at, `## ${version} (${date})`).join('\n');
}
