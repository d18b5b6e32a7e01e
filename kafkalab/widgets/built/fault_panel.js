import{openFaults as o}from"kafkalab:common";var p={render:({model:e,el:r})=>o(e,r)};export{p as default};
