/** `@treetop/device/survey`: defines the element `<treetop-survey>`. */

import { TreetopSurvey } from "./survey/element.js";

if (customElements.get("treetop-survey") === undefined) customElements.define("treetop-survey", TreetopSurvey);

export { TreetopSurvey };
