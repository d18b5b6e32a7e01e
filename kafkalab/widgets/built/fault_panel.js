import{FaultPanel as o}from"kafkalab:common";import{shows as r}from"kafkalab:common";var a=r(o);export{a as default};
